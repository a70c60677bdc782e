"""Holding what is served of a job against the log: every difference, and in words what could not be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

from oracle.completeness import Serving, Standing, impossible
from oracle.days import Calendar, days
from oracle.fates import DEAD_LETTER, FATES, REFUSED, Row
from oracle.served import Segment, ServedRow
from oracle.times import span, utc

_Table = Mapping[Any, Mapping[str, object]]
_CTR_TOLERANCE = Fraction(1, 10**6)
_OF_THE_CLIENT = ("time_zone", "currency", "budget_micros", "finality")
"""Columns of a day that no record decides."""


@dataclass(frozen=True)
class Difference:
    """One number that is not what it must be; `expected` or `served` None: that side has no such row."""

    job: str
    view: str
    key: str
    column: str
    expected: object
    served: object


@dataclass
class Compared:
    """The outcome for one job: rows compared per view, the differences, and in words what was not compared."""

    rows: dict[str, int] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    uncompared: list[str] = field(default_factory=list)


def compare(serving: Serving, calendar: Calendar, at_ms: int) -> Compared:
    """All that is served of one job against what its versions read: each segment by the version that serves it."""
    found = Compared()
    for segment, standing in serving.unproved():
        found.uncompared.append(_why(serving.served.job, segment, standing))
    for standing in serving.standings.values():
        found.differences += [*_accounting(serving, standing), *_reach(serving, standing, at_ms)]
    found.rows["ops.accounting"] = len(serving.standings)
    for compare_view in (_freshness, _minutes, _days, _quarantine):
        compare_view(serving, calendar, found)
    return found


def ctr_holds(served: Decimal | None, clicks: int, impressions: int) -> bool:
    """Whether a served ctr is clicks / impressions, rounded at the last digit that it shows, at least six."""
    if served is None or impressions == 0:
        return served is None and impressions == 0
    exponent = served.as_tuple().exponent
    digits = -exponent if isinstance(exponent, int) else 0
    error = abs(Fraction(served) - Fraction(clicks, impressions))
    return error <= min(Fraction(1, 2 * 10 ** max(digits, 0)), _CTR_TOLERANCE)


def _accounting(serving: Serving, standing: Standing) -> Iterator[Difference]:
    """Records and micros by fate, and conservation of what is served."""
    version, ledger, job = standing.version, standing.ledger, serving.served.job
    key, view = f"version={version.version}", "ops.accounting"
    if standing.exact_from is None and not standing.lost:
        expected = {"read": ledger.read, **{fate: ledger.records[fate] for fate in FATES}}
        expected |= {f"{fate}_micros": ledger.micros[fate] for fate in FATES if fate != DEAD_LETTER}
        shown = {**version.records, **{f"{fate}_micros": micros for fate, micros in version.micros.items()}}
        yield from _columns(job, view, key, expected, shown)
    else:
        yield from _accounting_in_part(serving, standing)
    total = sum(version.records[fate] for fate in FATES)
    if total != version.records["read"]:
        yield Difference(job, view, key, "sum of fates", version.records["read"], total)


def _accounting_in_part(serving: Serving, standing: Standing) -> Iterator[Difference]:
    """Where records are gone: each offset was read once, and what a record alone decides was at least what is left."""
    version, job, key = standing.version, serving.served.job, f"version={standing.version.version}"
    read = sum(end - version.start[partition] for partition, end in version.end.items())
    yield from _columns(job, "ops.accounting", key, {"read": read}, version.records)
    for fate in sorted(REFUSED):
        least = standing.ledger.records[fate]
        if version.records[fate] < least and not standing.lost:
            yield Difference(job, "ops.accounting", key, fate, f"at least {least}", version.records[fate])


def _reach(serving: Serving, standing: Standing, at_ms: int) -> Iterator[Difference]:
    for partition, most, drained in impossible(standing, at_ms):
        key = f"version={standing.version.version} partition={partition}"
        yield Difference(serving.served.job, "ops.progress", key, "drained_at", f"at most {utc(most)}", utc(drained))
    if standing.lost and standing.version is serving.served.live:
        key = f"version={standing.version.version}"
        end = dict(sorted(standing.version.end.items()))
        yield Difference(serving.served.job, "the log", key, "end", f"at least {end}", "less: it is another log")


def _freshness(serving: Serving, _: Calendar, found: Compared) -> None:
    served = serving.served
    expected = serving.standings[served.live.version].complete_through
    found.rows["serving.freshness"] = 1
    if expected != served.complete_through:
        key = f"version={served.live.version}"
        times = [None if at is None else utc(at) for at in (expected, served.complete_through)]
        found.differences.append(Difference(served.job, "serving.freshness", key, "complete_through", *times))


def _minutes(serving: Serving, _: Calendar, found: Compared) -> None:
    served = serving.served
    if served.minutes is None:
        return
    view = f"serving.{served.job}_minute"
    expected = {key: _with_finality(serving, key, row) for key, row in serving.expected(served.keys).items()}
    proved = {key for key in served.minutes if serving.at(_minute(key)).proves(_minute(key))}
    shown = {key: _without_ctr(served.minutes[key]) for key in proved}
    found.rows[view] = len(expected.keys() | shown.keys())
    found.differences += _tables(served.job, view, expected, shown)
    for key, row in served.minutes.items():
        is_final = serving.at(_minute(key)).is_final(_minute(key))
        if key not in proved and row.is_final != is_final:
            found.differences.append(Difference(served.job, view, str(key), "is_final", is_final, row.is_final))
        if not ctr_holds(row.ctr, row.clicks, row.impressions):
            quotient = f"{row.clicks}/{row.impressions}"
            found.differences.append(Difference(served.job, view, str(key), "ctr", quotient, row.ctr))
    _tell_of(found, view, len(served.minutes) - len(proved), "of each but ctr and is_final")


def _days(serving: Serving, calendar: Calendar, found: Compared) -> None:
    served, view = serving.served, "serving.client_spend_day"
    if served.days is None:
        return
    proves, finality = cache(serving.proves), cache(serving.finality)
    added = days(serving.expected(("client_id",)), calendar)
    expected, shown, in_part = dict[Any, dict[str, object]](), dict[Any, dict[str, object]](), 0
    for key in added.keys() | served.days.keys():
        windows = calendar.windows(*key)
        columns = None if proves(windows) else _OF_THE_CLIENT
        day = added.get(key, calendar.blank(*key) if columns else None)
        if day is not None:
            expected[key] = _some(columns, {**vars(day), "finality": finality(windows)})
        if key in served.days:
            shown[key] = _some(columns, vars(served.days[key]))
            in_part += columns is not None
    found.rows[view] = len(expected.keys() | shown.keys())
    found.differences += _tables(served.job, view, expected, shown)
    _tell_of(found, view, in_part, "of each but " + ", ".join(_OF_THE_CLIENT))


def _quarantine(serving: Serving, _: Calendar, found: Compared) -> None:
    """The view shows what the live version keeps, whichever windows it serves."""
    served, view = serving.served, "ops.quarantine"
    if served.quarantine is None:
        return
    standing = serving.standings[served.live.version]
    shown = {place: kept for place, kept in served.quarantine.items() if _must_be_kept(standing, place)}
    proved = {place: kept for place, kept in shown.items() if _is_held(standing, place)}
    ours = {} if standing.lost else standing.ledger.kept
    expected = {place: kept for place, kept in ours.items() if _must_be_kept(standing, place)}
    found.rows[view] = len(expected.keys() | proved.keys())
    found.differences += _tables(served.job, view, _plain(expected), _plain(proved))
    _tell_of(found, view, len(shown) - len(proved), "of records that the log no longer holds")


def _must_be_kept(standing: Standing, place: tuple[int, int]) -> bool:
    """Whether it is not one of those that are forgotten by their age; they may be there still."""
    partition, offset = place
    return offset >= standing.version.kept_from.get(partition, 0)


def _is_held(standing: Standing, place: tuple[int, int]) -> bool:
    """Whether the log still has, or never had, a record of the version at that place."""
    partition, offset = place
    version, first = standing.version, standing.ledger.first
    was_read = version.start.get(partition, 0) <= offset < version.end.get(partition, 0)
    return not standing.lost and (not was_read or offset >= first.get(partition, offset + 1))


def _why(job: str, segment: Segment, standing: Standing) -> str:
    """Why windows of a segment are not compared."""
    name = f"{job} v{standing.version.version}"
    if standing.lost:
        whole = span(segment.from_ms, segment.to_ms)
        return f"{name}: the log ends before what it has read, so it read another; windows {whole} were not compared"
    exact = standing.exact_from
    assert exact is not None
    until = exact if segment.to_ms is None else min(exact, segment.to_ms)
    whole = span(segment.from_ms, until)
    return f"{name}: retention has removed records that it read; windows {whole} were not compared"


def _tell_of(found: Compared, view: str, rows: int, what: str) -> None:
    if rows:
        found.uncompared.append(f"{view}: {rows:,} rows were not compared, {what}")


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


def _minute(key: tuple[object, ...]) -> int:
    assert isinstance(key[-1], int)
    return key[-1]


def _with_finality(serving: Serving, key: tuple[object, ...], row: Row) -> dict[str, object]:
    minute = _minute(key)
    return {**vars(row), "is_final": serving.at(minute).is_final(minute)}


def _some(columns: tuple[str, ...] | None, row: dict[str, object]) -> dict[str, object]:
    return row if columns is None else {column: row[column] for column in columns}


def _plain(rows: Mapping[Any, Any]) -> dict[Any, dict[str, object]]:
    return {key: vars(row) for key, row in rows.items()}


def _without_ctr(row: ServedRow) -> dict[str, object]:
    return {name: value for name, value in vars(row).items() if name != "ctr"}
