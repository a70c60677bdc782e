"""The commands `client set` and `client list`: a client's time zone, currency and daily budget, by date."""

from __future__ import annotations

import getpass
import json
import re
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer
from rich.console import Console
from rich.table import Table

from cli.entry import settings
from cli.options import reason_required
from kappa.core.audit import Author, in_place_id
from kappa.core.job_catalog import ID
from kappa.core.refusals import Refusal
from kappa.registry.clients import EXACT, Client, ClientBook, in_units

clients = typer.Typer(help="Clients: time zone, currency and daily budget.", no_args_is_help=True)
err = Console(stderr=True, soft_wrap=True)


class InvalidClient(Refusal):
    """An option of `client set` breaks its rule."""

    def __init__(self, option: str, value: object, rule: str) -> None:
        super().__init__(f"{option} {value}: {rule}. Nothing was changed.")


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.add_typer(clients, name="client")


@clients.command("set")
def set_client(
    client: Annotated[str, typer.Argument(help="The client_id.")],
    time_zone: Annotated[str, typer.Option(help="A zone like Europe/Berlin; the client's days are in it.")],
    currency: Annotated[str, typer.Option(help="Three letters, like EUR.")],
    daily_budget: Annotated[str | None, typer.Option(help="Like 100.50; none without it.")] = None,
    daily_budget_micros: Annotated[str | None, typer.Option(help="The same in millionths.")] = None,
    valid_from: Annotated[str | None, typer.Option(help="The client's local date; today's without it.")] = None,
    move_settled: Annotated[
        bool, typer.Option("--move-settled", help="Also where days change that are settled; needs a reason.")
    ] = False,
    reason: Annotated[str | None, typer.Option(help="Why; kept in the audit.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines, on stdout.")] = False,
) -> None:
    """Say what holds for a client from a date on; the same date again replaces it.

    Refused where it would change days that are settled, unless that is what is meant.
    """
    why = reason_required("--move-settled", reason) if move_settled else reason
    zone = _zone(time_zone)
    day = _date(valid_from) if valid_from else _today(zone)
    budget = _budget(daily_budget, daily_budget_micros)
    said = Client(_client(client), day, time_zone, _currency(currency), budget)
    book = ClientBook(settings().dsn("kappa_registry"))
    book.put(said, Author(getpass.getuser(), in_place_id("client.set", client), why), move_settled)
    _show(book.rows(client), as_json)


@clients.command("list")
def list_clients(
    as_json: Annotated[bool, typer.Option("--json", help="For machines, on stdout.")] = False,
) -> None:
    """What holds for each client, and from when."""
    _show(ClientBook(settings().dsn("kappa_registry")).rows(), as_json)


def micros(amount: str) -> int:
    """An amount of money in millionths, exactly. Raises InvalidClient."""
    value = _not_negative("--daily-budget", amount, _amount(amount), 10**32)
    whole = EXACT.quantize(value, Decimal("0.000001"))
    if whole != value:
        raise InvalidClient("--daily-budget", amount, "money has at most six decimal places")
    return int(EXACT.scaleb(whole, 6))


def _amount(given: str) -> Decimal:
    try:
        value = Decimal(given)
    except InvalidOperation as error:
        raise InvalidClient("--daily-budget", given, "give an amount like 100.50") from error
    if not value.is_finite():
        raise InvalidClient("--daily-budget", given, "give an amount like 100.50")
    return value


def _budget(amount: str | None, given_micros: str | None) -> int | None:
    if amount is not None and given_micros is not None:
        raise InvalidClient("--daily-budget-micros", given_micros, "give the budget once, in one of the two ways")
    if amount is not None:
        return micros(amount)
    if given_micros is None:
        return None
    if not re.fullmatch(r"-?\d+", given_micros):
        raise InvalidClient("--daily-budget-micros", given_micros, "give a whole number of millionths")
    return int(_not_negative("--daily-budget-micros", given_micros, Decimal(given_micros), 10**38))


def _not_negative(option: str, given: str, value: Decimal, below: int) -> Decimal:
    if not 0 <= value < below:
        raise InvalidClient(option, given, "a budget lies between 0 and 10^38 - 1 millionths")
    return value


def _client(client: str) -> str:
    if not ID.fullmatch(client):
        raise InvalidClient("CLIENT", client, "an id is 1 to 64 of A-Z a-z 0-9 _ . : -")
    return client


def _currency(currency: str) -> str:
    if not re.fullmatch(r"[A-Z]{3}", currency):
        raise InvalidClient("--currency", currency, "give three capital letters, like EUR")
    return currency


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidClient("--time-zone", name, "no such zone; give one like Europe/Berlin") from error


def _date(given: str) -> date:
    try:
        return date.fromisoformat(given)
    except ValueError as error:
        raise InvalidClient("--valid-from", given, "give a date like 2026-01-31") from error


def _today(zone: ZoneInfo) -> date:
    return datetime.now(zone).date()


def _show(rows: list[Client], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([_json(row) for row in rows], indent=2))
        return
    table = Table("client", "valid from", "time zone", "currency", "daily budget")
    for row in rows:
        budget = "" if row.daily_budget_micros is None else f"{in_units(row.daily_budget_micros):f}"
        table.add_row(row.client_id, row.valid_from.isoformat(), row.time_zone, row.currency, budget)
    err.print(table)


def _json(row: Client) -> dict[str, Any]:
    return {**vars(row), "valid_from": row.valid_from.isoformat()}
