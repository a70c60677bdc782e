"""Holding what is served against what the log says: every difference, and nothing but differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from truth.days import Calendar, Day, days
from truth.fates import DEAD_LETTER, FATES, FUTURE, LATE, Ledger, Row
from truth.served import Served, ServedDay, ServedRow

_Table = Mapping[Any, Mapping[str, object]]
_QUARANTINED = (DEAD_LETTER, FUTURE, LATE)
_CTR_TOLERANCE = Fraction(1, 10**6)


@dataclass(frozen=True)
class Difference:
    """One number that is not what it must be; `expected` or `served` None: that side has no such row."""

    job: str
    view: str
    key: str
    column: str
    expected: object
    served: object


@dataclass(frozen=True)
class Compared:
    """The outcome for one job: rows compared per view, and the differences."""

    rows: dict[str, int]
    differences: list[Difference]


def compare(served: Served, ledger: Ledger, calendar: Calendar) -> Compared:
    """One job's live version against the ledger of what it read."""
    rows: dict[str, int] = {"ops.accounting": 1}
    found = list(_accounting(served, ledger))
    if served.minutes is not None:
        expected = _since(ledger.rows[served.keys], served.from_ms)
        rows[f"serving.{served.job}_minute"] = len(expected.keys() | served.minutes.keys())
        found += _minutes(served.job, expected, served.minutes)
    if served.days is not None:
        expected_days = days(_since(ledger.rows[("client_id",)], served.from_ms), calendar)
        shared = {key: day for key, day in expected_days.items() if _is_whole(key, served.from_ms, calendar)}
        shown = {key: day for key, day in served.days.items() if _is_whole(key, served.from_ms, calendar)}
        rows["serving.client_spend_day"] = len(shared.keys() | shown.keys())
        found += _tables(served.job, "serving.client_spend_day", _plain(shared), _plain(shown))
    if served.quarantine is not None:
        refused = {at: fate for at, fate in ledger.refused.items() if fate in _QUARANTINED}
        kept, shown_fates = _kept(refused, served.kept_from), _kept(served.quarantine, served.kept_from)
        rows["ops.quarantine"] = len(kept.keys() | shown_fates.keys())
        found += _tables(served.job, "ops.quarantine", kept, shown_fates)
    return Compared(rows, found)


def spend_disagreements(first: Served, second: Served) -> list[Difference]:
    """Clients whose spend is not equal in two jobs that read the same records: one by minutes, the other
    by days."""
    totals: list[Counter[str]] = []
    for served in (first, second):
        total: Counter[str] = Counter()
        for key, row in (served.minutes or {}).items():
            total[str(key[served.keys.index("client_id")])] += row.spend_micros
        for (client, _), day in (served.days or {}).items():
            total[client] += day.spend_micros
        totals.append(total)
    pair = f"{first.job} and {second.job}"
    return [
        Difference(
            pair,
            "spend per client",
            f"client_id={client}",
            "spend_micros",
            totals[0][client],
            totals[1][client],
        )
        for client in sorted(totals[0].keys() | totals[1].keys())
        if totals[0][client] != totals[1][client]
    ]


def ctr_holds(served: Decimal | None, clicks: int, impressions: int) -> bool:
    """Whether a served ctr is clicks / impressions, rounded at the last digit that it shows, at least six."""
    if served is None or impressions == 0:
        return served is None and impressions == 0
    exponent = served.as_tuple().exponent
    digits = -exponent if isinstance(exponent, int) else 0
    error = abs(Fraction(served) - Fraction(clicks, impressions))
    return error <= min(Fraction(1, 2 * 10 ** max(digits, 0)), _CTR_TOLERANCE)


def _accounting(served: Served, ledger: Ledger) -> Iterator[Difference]:
    """Records and micros by fate, and conservation of what is served."""
    expected = {"read": ledger.read, **{fate: ledger.records[fate] for fate in FATES}}
    expected |= {f"{fate}_micros": ledger.micros[fate] for fate in FATES if fate != DEAD_LETTER}
    shown = {**served.records, **{f"{fate}_micros": micros for fate, micros in served.micros.items()}}
    yield from _columns(served.job, "ops.accounting", f"version={served.version}", expected, shown)
    total = sum(served.records[fate] for fate in FATES)
    if total != served.records["read"]:
        key = f"version={served.version}"
        yield Difference(served.job, "ops.accounting", key, "sum of fates", served.records["read"], total)


def _minutes(
    job: str, expected: Mapping[tuple[object, ...], Row], served: Mapping[tuple[object, ...], ServedRow]
) -> Iterator[Difference]:
    view = f"serving.{job}_minute"
    yield from _tables(job, view, _plain(expected), {key: _without_ctr(row) for key, row in served.items()})
    for key, row in served.items():
        if not ctr_holds(row.ctr, row.clicks, row.impressions):
            yield Difference(job, view, str(key), "ctr", f"{row.clicks}/{row.impressions}", row.ctr)


def _kept(fates: Mapping[tuple[int, int], str], kept_from: Mapping[int, int]) -> _Table:
    """The refused records that must be kept still."""
    return {(p, o): {"fate": fate} for (p, o), fate in fates.items() if o >= kept_from.get(p, 0)}


def _tables(job: str, view: str, expected: _Table, served: _Table) -> Iterator[Difference]:
    for key in sorted(expected.keys() | served.keys(), key=str):
        wanted, shown = expected.get(key), served.get(key)
        if wanted is None or shown is None:
            yield Difference(job, view, str(key), "(row)", wanted, shown)
        elif wanted != shown:
            yield from _columns(job, view, str(key), wanted, shown)


def _columns(
    job: str, view: str, key: str, expected: Mapping[str, object], served: Mapping[str, object]
) -> Iterator[Difference]:
    for column, wanted in expected.items():
        if served.get(column) != wanted:
            yield Difference(job, view, key, column, wanted, served.get(column))


def _since(rows: Mapping[tuple[object, ...], Row], from_ms: int | None) -> dict[tuple[object, ...], Row]:
    """The rows of windows that the version serves."""
    return {key: row for key, row in rows.items() if from_ms is None or _minute(key) >= from_ms}


def _minute(key: tuple[object, ...]) -> int:
    assert isinstance(key[-1], int)
    return key[-1]


def _is_whole(key: tuple[str, date], from_ms: int | None, calendar: Calendar) -> bool:
    """Whether all of a day lies in the version's segment; of others an earlier version serves a part."""
    return from_ms is None or key[1] > calendar.day(key[0], from_ms)


def _plain(rows: Mapping[Any, Row | Day | ServedDay]) -> dict[tuple[object, ...], dict[str, object]]:
    return {key: vars(row) for key, row in rows.items()}


def _without_ctr(row: ServedRow) -> dict[str, object]:
    return {name: value for name, value in vars(row).items() if name != "ctr"}
