"""The page *Numbers*: clicks, impressions and spend as they are served, what is final apart from what is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kappa.console.database import Database
from kappa.console.text import plain
from kappa.core.job_catalog import ID
from kappa.core.refusals import Refusal

SPANS = {"15m": 15, "1h": 60, "3h": 180, "12h": 720, "24h": 1440}
"""What may be chosen, in minutes."""
POINTS = 240
"""The most points of a line: a longer span has steps of several minutes."""
TOP = 20


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
join ops.segments s using (job, version) where s.job = 'ad_ctr' and s.to_window = 'infinity'"""

# One pass: the points, the clients and the ads are sums over the same rows.
_SUMS = """
with summed as (
    select grouping(point) as of_names, grouping(ad_id) as without_ad, point, is_final, client_id, ad_id,
        sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks, sum(spend_micros) as spend_micros,
        sum(duplicates)::bigint as duplicates, sum(repeated_clicks)::bigint as repeated_clicks
    from (
        select client_id, ad_id, impressions, clicks, spend_micros, duplicates, repeated_clicks, is_final,
            date_bin(make_interval(mins => %(step)s), window_start, timestamptz 'epoch') as point
        from serving.ad_ctr_minute
        where window_start > %(end)s::timestamptz - make_interval(mins => %(minutes)s) and window_start <= %(end)s
            and (%(client)s = '' or client_id = %(client)s) and (%(ad)s = '' or ad_id = %(ad)s)
    ) served
    group by grouping sets ((point, is_final), (client_id), (client_id, ad_id))
), ranked as (
    select s.*, row_number() over same_kind as rank, count(*) over (partition by of_names, without_ad) as among
    from summed s
    window same_kind as (partition by of_names, without_ad order by spend_micros desc, client_id, ad_id)
)
select of_names = 0 as is_point, without_ad = 1 as is_client, extract(epoch from point)::bigint as at, is_final,
    client_id, ad_id, impressions, clicks, spend_micros, duplicates, repeated_clicks, among
from ranked where of_names = 0 or rank <= %(top)s
order by point, is_final, rank"""

_DAYS = """
select budget_day, time_zone, currency, impressions, clicks, spend_micros, budget_micros, finality
from serving.client_spend_day where client_id = %(client)s order by budget_day desc limit 14"""
_COMPLETE = """
select f.job, extract(epoch from f.complete_through)::bigint as complete_through from serving.freshness f
join ops.segments s using (job, version) where s.to_window = 'infinity'"""


def read(database: Database, chosen: Choice) -> dict[str, Any]:
    """{"choice", "step", "end", "complete_through", "points": [...], "clients": {"among", "rows"}, "ads": {"among",
    "rows"}, "days": [...] of the chosen client}. Raises NotReadable, TooSlow."""
    with database.reading() as connection:
        newest = connection.execute(_END).fetchone()
        end = None if newest is None else newest["newest"]
        asked = {
            "step": chosen.step, "minutes": chosen.minutes, "end": end, "client": chosen.client, "ad": chosen.ad,
            "top": TOP,
        }  # fmt: skip
        rows = connection.execute(_SUMS, asked).fetchall() if end is not None else []
        days = connection.execute(_DAYS, {"client": chosen.client}).fetchall() if chosen.client else []
        complete = connection.execute(_COMPLETE).fetchall()
    return {
        "choice": {"span": chosen.span, "client": chosen.client, "ad": chosen.ad},
        "step": chosen.step,
        "end": plain(end),
        "complete_through": {row["job"]: row["complete_through"] for row in complete},
        **split(rows),
        "days": plain(days),
    }


_SUMMED = ("impressions", "clicks", "spend_micros", "duplicates", "repeated_clicks")


def split(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows of one pass as points, clients and ads."""
    points = [{"at": r["at"], "is_final": r["is_final"], **_sums(r)} for r in rows if r["is_point"]]
    clients = [row for row in rows if not row["is_point"] and row["is_client"]]
    ads = [row for row in rows if not row["is_point"] and not row["is_client"]]
    return {"points": points, "clients": _ranked(clients, "client_id"), "ads": _ranked(ads, "client_id", "ad_id")}


def _ranked(rows: list[dict[str, Any]], *names: str) -> dict[str, Any]:
    among = rows[0]["among"] if rows else 0
    return {"among": among, "rows": [{**{name: row[name] for name in names}, **_sums(row)} for row in rows]}


def _sums(row: Mapping[str, Any]) -> dict[str, Any]:
    """Counts, money as text and, for the plot, as a number."""
    shown: dict[str, Any] = {name: plain(row[name]) for name in _SUMMED}
    ctr = row["clicks"] / row["impressions"] if row["impressions"] else None
    return {**shown, "ctr": ctr, "spend": float(row["spend_micros"]) / 1e6}
