"""The console's pages over many served rows, in a Postgres of the bench's own: how long each reading takes.

Command: python -m bench.console [--ads 10000] [--clients 500] [--minutes 1000] [--times 5] [--json]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

import typer

from bench import report
from bench.database import Ads, Clients, Filling, Minutes, fill, own_postgres
from bench.percentiles import summary
from kappa.console import comparison, fates, history, numbers
from kappa.console.database import Database, TooSlow
from kappa.console.now import Now
from kappa.core.installation.settings import Settings

COMPARED_MINUTES = 180
WITHOUT_LIMIT = 120.0
# As the page read until decision 0070: one pass over the view by minute, client and ad.
_ONE_PASS = """
select date_trunc('minute', window_start) as point, is_final, client_id, ad_id, sum(impressions)::bigint,
    sum(clicks)::bigint, sum(spend_micros), sum(duplicates)::bigint, sum(repeated_clicks)::bigint
from serving.ad_ctr_minute
where window_start > %(newest)s::timestamptz - make_interval(mins => %(minutes)s) and window_start <= %(newest)s
group by grouping sets ((point, is_final), (client_id), (client_id, ad_id))"""


def main(
    ads: Ads = 10_000,
    clients: Clients = 500,
    minutes: Minutes = 1_000,
    times: Annotated[int, typer.Option(min=1, help="How often each is read.")] = 5,
    as_json: report.Json = False,
) -> None:
    """Fill a database and read each page of the console from it."""
    newest = datetime.now(UTC).replace(second=0, microsecond=0)
    filling = Filling(ads, clients, minutes, newest)
    with own_postgres() as settings:
        made = fill(settings, "ad_ctr", 1, filling)
        other = replace(filling, minutes=min(minutes, COMPARED_MINUTES), differs=1_000)
        fill(settings, "client_spend", 1, filling)
        report.say(f"{made:,} rows; {fill(settings, 'ad_ctr', 2, other):,} of a second version")
        measured = {name: _measured(read, times) for name, read in readings(settings, newest).items()}
    if as_json:
        report.document({"rows": made, "unit": "ms", "readings": measured})
        return
    columns = ("times", "p50", "max", "told")
    rows = [(name, *(figures[column] for column in columns)) for name, figures in measured.items()]
    report.table(f"ms to read a page over {made:,} rows", ("page", *columns), rows)


def readings(settings: Settings, newest: datetime) -> dict[str, Callable[[], Any]]:
    """What is read, by what it is called."""
    database, patient = Database(settings), Database(settings, WITHOUT_LIMIT)
    now = Now(database, settings)

    def one_pass(span: str) -> Any:
        with patient.reading() as connection:
            asked = {"newest": newest, "minutes": numbers.SPANS[span]}
            return connection.execute(_ONE_PASS, asked, prepare=False).fetchall()

    def of_numbers(*chosen: str) -> Any:
        return numbers.read(database, numbers.choice(*chosen))

    return {
        **{f"one pass over the view, {span}": partial(one_pass, span) for span in ("1h", "3h")},
        **{f"numbers of all, {span}": partial(of_numbers, span, "", "") for span in numbers.SPANS},
        "numbers of a client, 24h": lambda: of_numbers("24h", "client-7", ""),
        "numbers of an ad, 24h": lambda: of_numbers("24h", "client-7", "ad-7"),
        **{
            f"two versions, {span}": partial(comparison.read, database, "ad_ctr", 1, 2, span)
            for span in ("15m", "1h", "3h")
        },
        "now": now.read,
        "hours": now.hours,
        "fates, 24h": lambda: fates.read(database, "ad_ctr", "24h"),
        "releases": lambda: history.releases(database, ""),
    }  # fmt: skip


def _measured(read: Callable[[], Any], times: int) -> dict[str, Any]:
    """Milliseconds of each reading, and what was not told."""
    took, told = [], ""
    for _ in range(times):
        began = time.monotonic()
        try:
            found = read()
            told = "all but ads" if isinstance(found, dict) and found.get("ads", {}).get("refused") else "all"
        except TooSlow:
            told = "nothing: cut off"
        took.append((time.monotonic() - began) * 1000)
    figures = summary(took)
    return {"times": times, "p50": figures["p50"], "max": figures["max"], "told": told}


if __name__ == "__main__":
    report.run(main)
