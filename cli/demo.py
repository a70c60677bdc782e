"""The command `demo`: from nothing to exact numbers of a real ad log, and where to look from there."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
import typer
from kappa.plans.start_point import EARLIEST
from kappa.ports import connect
from kappa.steps.observe import found
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from cli import entry, showing, verbs
from cli.stack import bring_up
from jobs import catalog
from jobs.refusals import Refusal
from jobs.settings import Settings
from stack.footprint import memory_bytes
from stack.passwords import airflow_login, airflow_users
from stack.postgres import BINARIES
from traffic.log import KafkaLog
from traffic.open_bandit_totals import expected_totals
from traffic.play import Played, SystemClock, play
from traffic.sources import plan_open_bandit

COMPRESS = 5_040
PATIENCE_SECONDS = 180
Totals = dict[str, tuple[int, int, int]]
err = Console(stderr=True, highlight=False, soft_wrap=True)

_AD_TOTALS = """select client_id, sum(impressions)::bigint, sum(clicks)::bigint, sum(spend_micros)::bigint
from serving.ad_ctr_minute group by client_id order by client_id"""
_DAY_TOTALS = _AD_TOTALS.replace("ad_ctr_minute", "client_spend_day")
_QUERY = (
    "select ad_id, sum(impressions), sum(clicks), sum(spend_micros) from serving.ad_ctr_minute "
    "group by 1 order by 4 desc limit 10"
)
_FRESHNESS = "select job, lag_events, processed_at, complete_through from serving.freshness order by job"


class NumbersDiffer(Refusal):
    """What is served is not what the log's own files add up to."""

    def __init__(self, view: str, expected: Totals, served: Totals) -> None:
        super().__init__(
            f"serving.{view} serves {served}, the log's files add up to {expected} (impressions, clicks, micros per "
            "campaign). See './kappa status' and './kappa reconcile'."
        )


@dataclass
class Times:
    """Seconds that each stage took."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def of(self, stage: str) -> Iterator[None]:
        """Time a stage."""
        begun = time.monotonic()
        yield
        self.seconds[stage] = time.monotonic() - begun


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command()(demo)


def demo() -> None:
    """Start the stack, deploy the jobs, play a real ad log, watch the numbers come in and check them."""
    settings, times = entry.settings(), Times()
    with times.of("stack"):
        bring_up(settings)
    with times.of("deployment"):
        _deploy(settings)
    expected = expected_totals()
    with psycopg.connect(settings.dsn("kappa_reader"), autocommit=True) as reader:
        before = {view: _totals(reader, sql) for view, sql in _views().items()}
        with times.of("play and catch-up"):
            times.seconds["first number"] = _watch(settings, reader, before, expected)
        for view, sql in _views().items():
            _check(view, expected, _difference(_totals(reader, sql), before[view]))
    _tell(settings, expected, times)


def _deploy(settings: Settings) -> None:
    err.print("deploying " + ", ".join(catalog.JOBS) + " through Airflow")
    platform = connect(settings)
    there = [job for job in catalog.JOBS if found(platform, job).current()]
    new = [job for job in catalog.JOBS if job not in there]
    outcomes = verbs.deploy(settings, verbs.requests(settings, new, EARLIEST, "", {}), "demo") if new else []
    outcomes += verbs.start(settings, there, "demo") if there else []
    showing.outcomes(outcomes, as_json=False)


def _views() -> dict[str, str]:
    return {"ad_ctr_minute": _AD_TOTALS, "client_spend_day": _DAY_TOTALS}


def _watch(settings: Settings, reader: psycopg.Connection, before: dict[str, Totals], expected: Totals) -> float:
    """Play the log and show what is served until all of it has arrived; returns the seconds to the first number."""
    played: list[Played] = []
    player = threading.Thread(target=lambda: played.append(_play(settings)), daemon=True)
    begun, first, told = time.monotonic(), 0.0, 0.0
    player.start()
    with Live(console=err, refresh_per_second=4, transient=True) as live:
        while True:
            totals = _difference(_totals(reader, _AD_TOTALS), before["ad_ctr_minute"])
            first = first or (time.monotonic() - begun if totals else 0.0)
            live.update(Group(_numbers(totals, expected), _freshness(reader)))
            if not err.is_terminal and time.monotonic() - told > 15:
                told = time.monotonic()
                err.print(f"served after {told - begun:.0f} s: " + _line(totals))
            if not player.is_alive() and (_all_read(reader) or time.monotonic() - begun > 120 + PATIENCE_SECONDS):
                break
            time.sleep(0.5)
    if not played or played[0].failed:
        raise Refusal("the log could not be played to its end; see './kappa status'.")
    return first


def _play(settings: Settings) -> Played:
    plan = plan_open_bandit(time.time_ns() // 1_000_000, COMPRESS, None, False)
    return play(plan.records, KafkaLog(settings.kafka, settings.topic.name), SystemClock(), plan.paced)


def _all_read(reader: psycopg.Connection) -> bool:
    """Whether each job says that it had read the log to its end, as of after now."""
    (now,) = reader.execute("select clock_timestamp()").fetchone() or (None,)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        lags = reader.execute(
            "select lag_events = 0 and complete_through > %s - interval '2 hours 1 minute' from serving.freshness",
            (now,),
        ).fetchall()
        if lags and all(done for (done,) in lags):
            return True
        time.sleep(0.5)
    return False


def _totals(reader: psycopg.Connection, query: str) -> Totals:
    return {
        client: (i, c, m) for client, i, c, m in reader.execute(query.encode()) if client in ("all", "men", "women")
    }


def _difference(now: Totals, before: Totals) -> Totals:
    """What came since: an earlier demo's numbers stay where they are."""
    none = (0, 0, 0)
    rest = {c: tuple(a - b for a, b in zip(now[c], before.get(c, none), strict=True)) for c in now}
    return {c: (v[0], v[1], v[2]) for c, v in rest.items() if v != none}


def _check(view: str, expected: Totals, served: Totals) -> None:
    if served != expected:
        raise NumbersDiffer(view, expected, served)


def _numbers(totals: Totals, expected: Totals) -> Table:
    table = Table("campaign", title="served by Postgres, live")
    for name in ("impressions", "clicks", "CTR", "spend", "of the log"):
        table.add_column(name, justify="right")
    for client in sorted(expected):
        i, c, m = totals.get(client, (0, 0, 0))
        ctr = f"{c / i:.4%}" if i else ""
        table.add_row(client, f"{i:,}", f"{c:,}", ctr, f"{m / 1e6:,.6f}", f"{i / expected[client][0]:.0%}")
    return table


def _freshness(reader: psycopg.Connection) -> Table:
    table = Table("job", "unread", "newest commit", "complete through")
    for job, lag, processed_at, complete in reader.execute(_FRESHNESS.encode()):
        table.add_row(job, f"{lag:,}", *(f"{t:%H:%M:%S}" if t else "" for t in (processed_at, complete)))
    return table


def _line(totals: Totals) -> str:
    return "  ".join(f"{client} {i:,}/{c:,}" for client, (i, c, _) in sorted(totals.items())) or "nothing yet"


def _tell(settings: Settings, expected: Totals, times: Times) -> None:
    err.print(_numbers(expected, expected))
    impressions, clicks = (sum(t[n] for t in expected.values()) for n in (0, 1))
    err.print(
        f"[green]equal:[/] both views serve exactly what the log's six files add up to: {impressions:,} impressions, "
        f"{clicks:,} clicks, to the micro."
    )
    err.print("seconds: " + ", ".join(f"{stage} {taken:.0f}" for stage, taken in times.seconds.items()))
    disk = shutil.disk_usage(settings.home)
    err.print(
        f"memory of the whole stack: {memory_bytes(settings.home) / 1e9:.1f} GB; {disk.free / 1e9:.0f} GB of disk left"
    )
    user, password = airflow_login(settings, "admin")
    shown = password if err.is_terminal else f"(in {airflow_users(settings)})"
    err.print(f"\nAirflow: {settings.airflow}   user {user}, password {shown}", markup=False)
    err.print("look further: ./kappa status, ./kappa reconcile, or ask Postgres yourself:", markup=False)
    err.print(f"""  {BINARIES / "psql"} "{settings.dsn("kappa_reader")}" -c "{_QUERY}\"""", markup=False)
    err.print("stop everything: ./kappa down", markup=False)
