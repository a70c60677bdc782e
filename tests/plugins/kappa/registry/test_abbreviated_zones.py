"""A zone's name that Postgres reads as an abbreviation, of one offset all year, is refused; stored ones are found."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import pytest

from kappa.core.audit import Author
from kappa.registry.clients import AbbreviatedZone, Client, ClientBook
from stack.layout import Layout
from tests.rigs.served_by_hand import ByHand, by_hand

pytestmark = pytest.mark.rig
BY = Author("ada", "run-zones", None)


@pytest.fixture
def hand(parts: Layout) -> Iterator[ByHand]:
    with by_hand(parts.settings) as made:
        yield made


def in_zone(name: str) -> Client:
    return Client("acme", date(2026, 1, 1), name, "EUR", None)


def _told(hand: ByHand) -> int:
    """How many entries the audit has; other tests leave theirs."""
    [(entries,)] = hand.execute("select count(*) from registry.audit")
    return int(entries)


@pytest.mark.parametrize("name", ["CET", "EET", "MET", "WET", "EST", "MST", "cet"])
def test_an_abbreviation_is_refused_with_a_region_instead(hand: ByHand, name: str) -> None:
    book, told = ClientBook(hand.settings.dsn("kappa_registry")), _told(hand)
    with pytest.raises(AbbreviatedZone, match=f"'{name}' .*Europe/Berlin"):
        book.put(in_zone(name), BY)
    assert book.rows() == []
    assert _told(hand) == told


@pytest.mark.parametrize("name", ["UTC", "GMT", "Europe/Berlin", "Etc/GMT+5", "EST5EDT"])
def test_a_name_that_means_one_zone_everywhere_is_taken(hand: ByHand, name: str) -> None:
    book = ClientBook(hand.settings.dsn("kappa_registry"))
    book.put(in_zone(name), BY)
    assert book.rows() == [in_zone(name)]


def test_a_row_that_was_stored_before_is_found(hand: ByHand) -> None:
    for client, zone in [("acme", "CET"), ("berlin", "Europe/Berlin"), ("lower", "wet"), ("nobody", "UTC")]:
        hand.client(client, zone, "2026-01-01")
    found = ClientBook(hand.settings.dsn("kappa_registry")).abbreviated()
    assert [(row.client_id, row.time_zone) for row in found] == [("acme", "CET"), ("lower", "wet")]
