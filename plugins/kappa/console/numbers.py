"""The page *Numbers*: clicks, impressions and spend as they are served, what is final apart from what is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kappa.console import sums
from kappa.console.database import Database, TooSlow
from kappa.console.text import plain
from kappa.core.job_catalog import ID
from kappa.core.refusals import Refusal

SPANS = {"15m": 15, "1h": 60, "3h": 180, "12h": 720, "24h": 1440}
"""What may be chosen, in minutes."""
POINTS = 240
"""The most points of a line: a longer span has steps of several minutes."""
TOP = 20
ADS, CLIENTS = "ad_ctr", "client_spend"
"""All clients are added up from the rows of CLIENTS, which are fewer: both jobs count by one rule, to the micro."""


class NoSuchChoice(Refusal):
    """A page was asked for what it does not have."""

    def __init__(self, name: str, value: object, rule: str) -> None:
        super().__init__(f"{name} '{value}' cannot be shown: {rule}.")


@dataclass(frozen=True)
class Choice:
    """What is looked at: a span of time, of all clients or one, of all its ads or one."""

    span: str = "1h"
    client: str = ""
    ad: str = ""

    @property
    def minutes(self) -> int:
        """The span."""
        return SPANS[self.span]

    @property
    def only(self) -> dict[str, str]:
        """What rows must have, by column."""
        return {name: value for name, value in (("client_id", self.client), ("ad_id", self.ad)) if value}

    @property
    def step(self) -> int:
        """Minutes of a point."""
        return -(-self.minutes // POINTS)


def choice(span: str, client: str, ad: str) -> Choice:
    """What was asked for. Raises NoSuchChoice."""
    if span not in SPANS:
        raise NoSuchChoice("span", span, f"there are {', '.join(SPANS)}")
    for name, value in (("client", client), ("ad", ad)):
        if value and not ID.fullmatch(value):
            raise NoSuchChoice(name, value, "a name is 1 to 64 of A-Z a-z 0-9 _ . : -")
    return Choice(span, client, ad)


# The newest event, not the present, is where a span ends: a log that is played may lie in the past.
_END = """
select date_trunc('minute', least(f.newest_event_time, now() + interval '1 hour')) as newest from serving.freshness f
join ops.segments s using (job, version) where s.job = %(job)s and s.to_window = 'infinity'"""

_DAYS = """
select budget_day, time_zone, currency, impressions, clicks, spend_micros, budget_micros, finality
from serving.client_spend_day where client_id = %(client)s order by budget_day desc limit 14"""
_COMPLETE = """
select f.job, extract(epoch from f.complete_through)::bigint as complete_through from serving.freshness f
join ops.segments s using (job, version) where s.to_window = 'infinity'"""


def read(database: Database, chosen: Choice) -> dict[str, Any]:
    """{"choice", "step", "end", "source", "complete_through", "points": [...], "clients": {"among", "rows"}, "ads":
    {"among", "rows", "refused"}, "days": [...] of the chosen client}; `source` is the job whose rows points and clients
    are sums of. Of so many ads that it takes too long nothing is told but that. Raises NotReadable, TooSlow."""
    with database.reading() as connection:
        complete = {row["job"]: row["complete_through"] for row in connection.execute(_COMPLETE).fetchall()}
        source = _source(chosen, complete)
        newest = connection.execute(_END, {"job": source}).fetchone()
        end = None if newest is None else newest["newest"]
        minutes: list[dict[str, Any]] = []
        clients: list[dict[str, Any]] = []
        if end is not None:
            rows = sums.serving(connection, source, end, chosen.minutes, chosen.only)
            minutes = rows.by_minute(connection)
            # Of one client that is what its minutes come to, and needs no second look at its rows.
            clients = sums.whole(minutes, chosen.only) if chosen.client else rows.ranked(connection, ["client_id"], TOP)
        days = connection.execute(_DAYS, {"client": chosen.client}).fetchall() if chosen.client else []
    return {
        "choice": {"span": chosen.span, "client": chosen.client, "ad": chosen.ad},
        "step": chosen.step,
        "end": plain(end),
        "source": source,
        "complete_through": complete,
        "points": [{"at": p["at"], "is_final": p["is_final"], **_sums(p)} for p in sums.points(minutes, chosen.step)],
        "clients": _ranked(clients, "client_id"),
        "ads": _ads(database, chosen, end),
        "days": plain(days),
    }


def _source(chosen: Choice, serving: Mapping[str, Any]) -> str:
    """The job whose rows are added up: of all clients the one that has no row for each ad, where it serves."""
    return CLIENTS if not chosen.only and CLIENTS in serving else ADS


def _ads(database: Database, chosen: Choice, end: datetime | None) -> dict[str, Any]:
    """The first ads by spend: the one part that has a row for each of them, cut off by itself."""
    if end is None:
        return _ranked([])
    try:
        with database.reading() as connection:
            rows = sums.serving(connection, ADS, end, chosen.minutes, chosen.only)
            return _ranked(rows.ranked(connection, ["client_id", "ad_id"], TOP), "client_id", "ad_id")
    except TooSlow as refusal:
        return {"among": None, "rows": [], "refused": str(refusal)}


def _ranked(rows: list[dict[str, Any]], *names: str) -> dict[str, Any]:
    among = rows[0]["among"] if rows else 0
    return {"among": among, "rows": [{**{name: row[name] for name in names}, **_sums(row)} for row in rows]}


def _sums(row: Mapping[str, Any]) -> dict[str, Any]:
    """Counts, money as text and, for the plot, as a number."""
    shown: dict[str, Any] = {name: plain(row[name]) for name in sums.SUMMED}
    ctr = row["clicks"] / row["impressions"] if row["impressions"] else None
    return {**shown, "ctr": ctr, "spend": float(row["spend_micros"]) / 1e6}
