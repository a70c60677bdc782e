"""`client set`: what is refused before anything is written, and money that is exact."""

from __future__ import annotations

from datetime import date

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from cli.commands import client
from cli.commands.client import InvalidClient, micros
from kappa.registry.clients import Client

GOOD = ["client", "set", "acme", "--time-zone", "Europe/Berlin", "--currency", "EUR"]


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        ("100.50", 100_500_000),
        ("0.000001", 1),
        ("9007199254740993.1", 9007199254740993100000),
        ("100000000000000000000000.123456", 100000000000000000000000123456),
        ("9" * 32 + ".999999", 10**38 - 1),
        ("1e31", 10**37),
    ],
)
def test_money_is_exact(amount: str, expected: int) -> None:
    assert micros(amount) == expected


@pytest.mark.parametrize(
    "amount",
    ["0.0000001", "-1", "NaN", "sNaN", "Infinity", "ten", "1e32", "1e40", "1e999999", "1e-999999", "1e" + "9" * 20,
     "100000000000000000000000.0000001", "9" * 32 + ".9999999", "9" * 5000],
)  # fmt: skip
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


@pytest.mark.parametrize("millionths", ["1" * 5000, "-" + "1" * 5000, "1" + "0" * 38, "-1", "1.5"])
def test_millionths_that_are_no_budget_are_refused(millionths: str) -> None:
    with pytest.raises(InvalidClient, match="--daily-budget-micros"):
        run([*GOOD, "--daily-budget-micros", millionths])


def test_the_largest_budget_is_shown_exactly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(client, "err", Console(width=200))
    client._show([Client("acme", date(2026, 1, 1), "UTC", "EUR", 10**38 - 1)], as_json=False)
    assert "9" * 32 + ".999999" in capsys.readouterr().out


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
