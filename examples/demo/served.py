"""What readers see while the demo goes on, how it is shown, and the check against the log's own files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from rich.table import Table

from cli.operator_connection import Reading
from examples.demo.play import FINAL_AFTER_MS, Laid
from kappa.airflow_api import Run, Seen
from kappa.core.refusals import Refusal
from traffic.open_bandit import CAMPAIGNS

ROLE = "kappa_reader"
BESIDE = "beside"
"""The line of all clients that are no campaign of the log."""
VIEWS = ("ad_ctr_minute", "client_spend_day")
EVER_MS = 4_102_444_800_000
"""Later than any minute of a demo (epoch ms)."""
Sums = tuple[int, int, int]
"""impressions, clicks, micros."""
Totals = Mapping[str, Sums]
"""Sums by client."""
NOTHING: Sums = (0, 0, 0)

_AD_TOTALS = """
select client_id, sum(impressions)::bigint as i, sum(clicks)::bigint as c, sum(spend_micros)::bigint as m
from serving.ad_ctr_minute group by client_id"""
_TOTALS = {view: _AD_TOTALS.replace("ad_ctr_minute", view) for view in VIEWS}
_PLAYED = """
select case when client_id = any(%(campaigns)s) then client_id else %(beside)s end as client_id,
    sum(impressions)::bigint as i, sum(clicks)::bigint as c, sum(spend_micros)::bigint as m
from serving.ad_ctr_minute where window_start >= %(since)s and window_start < %(until)s group by 1"""
_FRESHNESS = "select job, version, lag_events, processed_at, complete_through from serving.freshness order by job"


class NumbersDiffer(Refusal):
    """What is served is not what the log's own files add up to."""

    def __init__(self, view: str, expected: Totals, served: Totals) -> None:
        super().__init__(
            f"serving.{view} serves {dict(served)}, the log's files add up to {dict(expected)} (impressions, clicks, "
            "micros per campaign). See './kappa status' and './kappa reconcile'."
        )


def campaigns(reader: Reading, view: str) -> Totals:
    """What a view serves of the log's campaigns, all times together."""
    rows = reader.execute(_TOTALS[view].encode()).fetchall()
    return {row["client_id"]: (row["i"], row["c"], row["m"]) for row in rows if row["client_id"] in CAMPAIGNS}


def played(reader: Reading, since_ms: int, until_ms: int) -> Totals:
    """What the minutes from `since_ms` to `until_ms` (epoch) serve, per campaign and of all others together."""
    since, until = (datetime.fromtimestamp(ms / 1000, UTC) for ms in (since_ms, until_ms))
    asked = {"campaigns": list(CAMPAIGNS), "beside": BESIDE, "since": since, "until": until}
    return {row["client_id"]: (row["i"], row["c"], row["m"]) for row in reader.execute(_PLAYED.encode(), asked)}


def read_past(reader: Reading, since: datetime, lateness_ms: Mapping[str, int]) -> bool:
    """Whether each job has read every partition past this append_time, and so all that was appended before.

    Told by what is final, not by the lag: with traffic beside, there is nearly always a newer record unread.
    """
    rows = reader.execute(_FRESHNESS.encode()).fetchall()
    return bool(rows) and all(_past(row["complete_through"], since, lateness_ms[row["job"]]) for row in rows)


def final_through_ms(reader: Reading, jobs: Sequence[str]) -> int | None:
    """Up to when the minutes of all these jobs are final, in epoch ms; None while that is not known of one."""
    rows = [row for row in reader.execute(_FRESHNESS.encode()).fetchall() if row["job"] in jobs]
    through = [row["complete_through"] for row in rows]
    return None if not through or None in through else int(min(through).timestamp() * 1000)


def difference(now: Totals, before: Totals) -> Totals:
    """What came since: an earlier demo's numbers stay where they are."""
    came = {client: _minus(sums, before.get(client, NOTHING)) for client, sums in now.items()}
    return {client: sums for client, sums in came.items() if sums != NOTHING}


def check(view: str, expected: Totals, served: Totals) -> None:
    """Pass when the view serves what the files add up to. Raises NumbersDiffer."""
    if dict(served) != dict(expected):
        raise NumbersDiffer(view, expected, served)


def numbers(totals: Totals, expected: Totals) -> Table:
    """The campaigns' numbers, with how much of the log they are, and below them what was played beside."""
    table = Table("campaign", title="served by Postgres, live")
    for name in ("impressions", "clicks", "CTR", "spend", "of the log"):
        table.add_column(name, justify="right")
    for client in (*sorted(expected), *(BESIDE for _ in totals if _ == BESIDE)):
        sums = totals.get(client, NOTHING)
        share = f"{sums[0] / expected[client][0]:.0%}" if client in expected else ""
        table.add_row(client, *cells(sums), share)
    return table


def cells(sums: Sums) -> tuple[str, str, str, str]:
    """impressions, clicks, CTR and spend for people."""
    i, c, m = sums
    return f"{i:,}", f"{c:,}", f"{c / i:.4%}" if i else "", f"{m / 1e6:,.6f}"


def freshness(reader: Reading) -> Table:
    """How far each job is."""
    table = Table("job", "unread", "newest commit", "complete through")
    for row in reader.execute(_FRESHNESS.encode()).fetchall():
        times = (f"{t:%H:%M:%S}" if t else "" for t in (row["processed_at"], row["complete_through"]))
        table.add_row(f"{row['job']} v{row['version']}", f"{row['lag_events']:,}", *times)
    return table


def line(totals: Totals) -> str:
    """The numbers in one line: impressions/clicks."""
    return "  ".join(f"{client} {i:,}/{c:,}" for client, (i, c, _) in sorted(totals.items())) or "nothing yet"


def lines(totals: Totals) -> str:
    """The numbers below each other, for where no table fits."""
    head = ("served now", "impressions", "clicks", "CTR", "spend")
    rows = [head, *((client, *cells(sums)) for client, sums in sorted(totals.items()))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    )


@dataclass(eq=False)
class Served:
    """Watches what a reader sees while a run goes on. `seen` is what the log's minutes were last seen to hold, by the
    version of `job` that served them."""

    reader: Reading
    laid: Laid
    job: str
    terminal: bool

    def __post_init__(self) -> None:
        self.seen: dict[int, Totals] = {}

    def look(self, run: Run, seen: Seen) -> str | None:
        """The numbers of all that was played, and which version they are of."""
        version = self.note()
        now = played(self.reader, self.laid.first_window_ms, EVER_MS)
        if not self.terminal:
            return f"served by {self.job} v{version}: {line(now)}"
        return f"{lines(now)}\n(by {self.job} v{version})".replace("\n", "\n  ")

    def note(self) -> int:
        """Look at the log's minutes; the version that serves them."""
        with self.reader.transaction():
            self.reader.execute("set transaction isolation level repeatable read, read only")
            version: int = next(
                row["version"] for row in self.reader.execute(_FRESHNESS.encode()).fetchall() if row["job"] == self.job
            )
            self.seen[version] = played(self.reader, self.laid.first_window_ms, self.laid.end_ms)
        return version


def _past(complete: datetime | None, since: datetime, lateness_ms: int) -> bool:
    return complete is not None and complete > since - timedelta(milliseconds=lateness_ms + FINAL_AFTER_MS)


def _minus(a: Sums, b: Sums) -> Sums:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]
