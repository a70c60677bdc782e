"""`client set`: what is refused before anything is written, and money that is exact."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from cli.commands import client
from cli.commands.client import InvalidClient, micros

GOOD = ["client", "set", "acme", "--time-zone", "Europe/Berlin", "--currency", "EUR"]


@pytest.mark.parametrize(
    ("amount", "expected"),
    [("100.50", 100_500_000), ("0.000001", 1), ("9007199254740993.1", 9007199254740993100000)],
)
def test_money_is_exact(amount: str, expected: int) -> None:
    assert micros(amount) == expected


@pytest.mark.parametrize("amount", ["0.0000001", "-1", "NaN", "Infinity", "ten", "1e40"])
def test_what_is_no_amount_of_money_is_refused(amount: str) -> None:
    with pytest.raises(InvalidClient, match="--daily-budget"):
        micros(amount)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"Europe/Berlin": "Europe/Berlln"}, "--time-zone Europe/Berlln"),
        ({"Europe/Berlin": "../etc/passwd"}, "--time-zone"),
        ({"EUR": "eur"}, "--currency eur"),
        ({"acme": "a b"}, "CLIENT a b"),
    ],
)
def test_an_option_that_breaks_its_rule_is_named(changed: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidClient, match=named):
        run([changed.get(word, word) for word in GOOD])


def test_a_budget_is_given_in_one_way_only() -> None:
    with pytest.raises(InvalidClient, match="in one of the two ways"):
        run([*GOOD, "--daily-budget", "1", "--daily-budget-micros", "1"])


def test_a_date_must_be_one() -> None:
    with pytest.raises(InvalidClient, match=r"--valid-from 31\.1\.2026"):
        run([*GOOD, "--valid-from", "31.1.2026"])


def run(words: list[str]) -> None:
    """The command; its refusal goes up."""
    app = typer.Typer()
    client.register(app)
    result = CliRunner().invoke(app, words)
    if result.exception is not None:
        raise result.exception
