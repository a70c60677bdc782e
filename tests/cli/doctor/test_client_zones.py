"""The trial of the clients' time zones on a real Postgres: clean, and with one that is an abbreviation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cli.doctor import client_zones
from cli.doctor.trial import carry_out
from stack.layout import Layout
from tests.rigs.served_by_hand import ByHand, by_hand

pytestmark = pytest.mark.rig


@pytest.fixture
def hand(parts: Layout) -> Iterator[ByHand]:
    with by_hand(parts.settings) as made:
        made.client("acme", "Europe/Berlin", "2026-01-01")
        yield made


def test_regions_are_as_they_have_to_be(hand: ByHand) -> None:
    (tried,) = [carry_out(trial) for trial in client_zones.trials(hand.settings)]
    assert (tried.finding, tried.found) == (None, "each is a region, or UTC")


def test_an_abbreviation_is_named_with_its_client_and_date(hand: ByHand) -> None:
    hand.client("old", "CET", "2026-02-01")
    (tried,) = [carry_out(trial) for trial in client_zones.trials(hand.settings)]
    assert tried.finding is not None
    assert "old from 2026-02-01 on: CET" in tried.finding.wrong
    assert "acme" not in tried.finding.wrong
    assert "client set" in tried.finding.remedy
