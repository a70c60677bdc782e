"""Whether two jobs count and bill alike: by the same rules, and to the micro (contract, sections 2 and 3).

Spend is compared as it is served, per client and day, over all windows in which both must show the same: those that
both versions count (one that starts at T counts nothing before), and that either are final in both, so that it does not
matter which of them has read further, or were served by versions that have read up to the same offsets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date
from functools import cache
from itertools import combinations

from oracle.compare import Difference
from oracle.completeness import Serving, Standing
from oracle.days import Calendar, Windows
from oracle.served import Segment
from oracle.times import span

_SETTINGS = ("allowed_lateness_ms", "future_bound_ms", "click_interval_ms")
_BY_MINUTE, _BY_DAY = "ad_ctr", "client_spend"
"""The jobs that bill, and how they show it."""
_STARTS_LATER = "one counts nothing of some of their windows, since it started later"
_NOT_YET = "they have read up to different offsets, and some windows are not final yet"
Key = tuple[str, date]


def disagreements(servings: dict[str, Serving], calendar: Calendar) -> tuple[list[Difference], list[str]]:
    """Every difference between two jobs, and in words what of their spend could not be compared."""
    found = [each for first, second in combinations(servings.values(), 2) for each in _rules_apart(first, second)]
    if not {_BY_MINUTE, _BY_DAY} <= servings.keys():
        return found, []
    spend, uncompared = _spend_apart(servings[_BY_MINUTE], servings[_BY_DAY], calendar)
    return found + spend, uncompared


def _rules_apart(first: Serving, second: Serving) -> Iterator[Difference]:
    """The settings in which versions differ that serve, or refuse, the same windows; a setting that a job does not have
    plays no part."""
    for mine in _in_force(first):
        for theirs in _in_force(second):
            a, b = first.standings[mine.version].version, second.standings[theirs.version].version
            lows = [at for at in (mine.from_ms, theirs.from_ms, a.rules.starts_at, b.rules.starts_at) if at is not None]
            low = max(lows, default=None)
            high = min((at for at in (mine.to_ms, theirs.to_ms) if at is not None), default=None)
            if low is not None and high is not None and low >= high:
                continue
            pair = f"{first.served.job} v{a.version} and {second.served.job} v{b.version}"
            for name in _SETTINGS:
                one, other = getattr(a.rules, name), getattr(b.rules, name)
                if one != other and None not in (one, other):
                    yield Difference(pair, "settings that decide", f"windows {span(low, high)}", name, one, other)


def _in_force(serving: Serving) -> tuple[Segment, ...]:
    """The segments whose rules show in what is served; of a job without windows only what is live is seen."""
    windowed = serving.served.minutes is not None or serving.served.days is not None
    return serving.served.segments if windowed else serving.served.segments[-1:]


def _spend_apart(by_minute: Serving, by_day: Serving, calendar: Calendar) -> tuple[list[Difference], list[str]]:
    why_not = cache(lambda windows: _why_not(by_minute, by_day, windows))
    totals = _spend_by_day(by_minute, by_day, calendar)
    shown = {key: day.spend_micros for key, day in (by_day.served.days or {}).items()}
    found, left_out = list[Difference](), Counter[str]()
    for key in sorted(totals.keys() | shown.keys()):
        if reason := why_not(calendar.windows(*key)):
            left_out[reason] += 1
        elif totals[key] != shown.get(key, 0):
            pair, where = f"{_BY_MINUTE} and {_BY_DAY}", f"client_id={key[0]} day={key[1]}"
            found.append(Difference(pair, "spend per client", where, "spend_micros", totals[key], shown.get(key, 0)))
    return found, [f"spend of {count:,} clients' days: {reason}" for reason, count in left_out.items()]


def _spend_by_day(by_minute: Serving, by_day: Serving, calendar: Calendar) -> Counter[Key]:
    """What the minutes add up to, of those that the other job counts."""
    place = by_minute.served.keys.index("client_id")
    totals = Counter[Key]()
    for key, row in (by_minute.served.minutes or {}).items():
        client, minute = str(key[place]), key[-1]
        assert isinstance(minute, int)
        if _counts(by_day.at(minute), minute):
            totals[client, calendar.day(client, minute)] += row.spend_micros
    return totals


def _why_not(by_minute: Serving, by_day: Serving, windows: Windows) -> str | None:
    """Why the spend of a day with these windows may differ; None: it may not."""
    for minute in windows:
        one, other = by_minute.at(minute), by_day.at(minute)
        if not _counts(other, minute):
            continue
        if not _counts(one, minute):
            return _STARTS_LATER
        is_final = one.is_final(minute) and other.is_final(minute)
        if not is_final and one.version.end != other.version.end:
            return _NOT_YET
    return None


def _counts(standing: Standing, minute: int) -> bool:
    starts = standing.version.rules.starts_at
    return starts is None or minute >= starts
