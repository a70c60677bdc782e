"""Sums over the rows that serve: each version is read by itself and as its table has it, which the views cannot be.

The view `serving.ad_ctr_minute` makes a decimal of each row's spend, and one pass over it by minute, client and ad
keeps three tables: that took three times as long as sums of integers in a pass each do (decision 0070).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from kappa.console.database import Reading
from kappa.core.job_catalog import JOBS

MINUTE = timedelta(minutes=1)
SUMMED = ("impressions", "clicks", "spend_micros", "duplicates", "repeated_clicks")
_PARTS = """
select s.version, greatest(s.from_window, %(begin)s) as begin, least(s.to_window, %(end)s) as end, c.complete_through
from ops.segments s join ops.reach c using (job, version)
where s.job = %(job)s and s.from_window < %(end)s and s.to_window > %(begin)s order by begin"""
_SUMS = (
    "sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks, "
    "sum(impression_micros) + sum(click_micros) as spend_micros, "
    "(sum(seen_impressions) - sum(impressions))::bigint as duplicates, "
    "(sum(seen_clicks) - sum(clicks))::bigint as repeated_clicks"
)


@dataclass(frozen=True)
class Part:
    """A version, and the windows of a span that it serves, the last one excluded."""

    version: int
    begin: datetime
    end: datetime
    complete_through: datetime | None

    def is_final(self, window: datetime) -> bool:
        """Whether no record can change this window of it."""
        return self.complete_through is not None and window + MINUTE <= self.complete_through


@dataclass(frozen=True)
class Rows:
    """The rows of a job that serve, by `parts`; only those that have these values in these columns."""

    job: str
    parts: Sequence[Part]
    only: Mapping[str, str]

    def by_minute(self, connection: Reading) -> list[dict[str, Any]]:
        """{"at", "is_final", each of SUMMED} for each minute that has rows, in order."""
        # Asked for in order, and since it may not sort (decision 0070), Postgres would read every client's rows by the
        # index of windows to find those of one.
        rows = sorted(self._read(connection, ["window_start"], "{summed}"), key=itemgetter("window_start"))
        return [_minute(row, self._is_final(row["window_start"])) for row in rows]

    def ranked(self, connection: Reading, names: Sequence[str], most: int) -> list[dict[str, Any]]:
        """The first by spend of what these columns name: {the names, each of SUMMED, "among": of how many}."""
        ranking = "select *, count(*) over () as among from ({summed}) s order by spend_micros desc, {keys} limit "
        return self._read(connection, names, ranking + str(most))

    def _read(self, connection: Reading, names: Sequence[str], statement: str) -> list[dict[str, Any]]:
        """The rows of a statement over `summed`: what the rows of all parts come to, by these columns."""
        if not self.parts:
            return []
        # Each part names its version by a parameter of its own: so the planner reads that version's table alone.
        branches, values = [], dict(self.only)
        conditions = "".join(f" and {name} = %({name})s" for name in self.only)
        for number, part in enumerate(self.parts):
            values |= {f"{name}{number}": getattr(part, name) for name in ("version", "begin", "end")}
            branches.append(
                f"select * from ops.{JOBS[self.job].table} where version = %(version{number})s "  # noqa: S608 - names of the catalogue
                f"and window_start >= %(begin{number})s and window_start < %(end{number})s{conditions}"
            )
        keys, rows = ", ".join(names), " union all ".join(branches)
        summed = f"select {keys}, {_SUMS} from ({rows}) r group by {keys}"  # noqa: S608 - as above
        return connection.execute(statement.format(summed=summed, keys=keys), values, prepare=False).fetchall()

    def _is_final(self, window: datetime) -> bool:
        return any(part.begin <= window < part.end and part.is_final(window) for part in self.parts)


def serving(connection: Reading, job: str, newest: datetime, minutes: int, only: Mapping[str, str]) -> Rows:
    """The rows of a job that serve the last minutes up to `newest`, which begins the last of them."""
    span = {"job": job, "begin": newest - (minutes - 1) * MINUTE, "end": newest + MINUTE}
    return Rows(job, [Part(**row) for row in connection.execute(_PARTS, span).fetchall()], only)


def points(minutes: Sequence[Mapping[str, Any]], step: int) -> list[dict[str, Any]]:
    """Minutes added up to points of `step` minutes, what is final apart from what is not, in order."""
    found: dict[tuple[int, bool], dict[str, Any]] = {}
    for minute in minutes:
        at = minute["at"] - minute["at"] % (60 * step)
        held = found.setdefault((at, minute["is_final"]), dict.fromkeys(SUMMED, 0))
        for name in SUMMED:
            held[name] += minute[name]
    return [{"at": at, "is_final": is_final, **found[at, is_final]} for at, is_final in sorted(found)]


def whole(minutes: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """What these minutes come to, as `Rows.ranked` tells of what is named; nothing where there are none."""
    return [{**names, **{name: sum(m[name] for m in minutes) for name in SUMMED}, "among": 1}] if minutes else []


def _minute(row: Mapping[str, Any], is_final: bool) -> dict[str, Any]:
    return {"at": int(row["window_start"].timestamp()), "is_final": is_final, **{name: row[name] for name in SUMMED}}
