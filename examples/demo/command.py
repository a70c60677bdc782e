"""The command `demo`: from nothing to exact numbers of a real ad log, then another rule for them and back again."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Group

from cli import entry, lifecycle_verbs, output
from cli.commands.stack import bring_up
from cli.operator_connection import looking
from examples.demo import replay as demo_replay
from examples.demo import served
from examples.demo.play import RATE, Laid, Playing, gentle, log_laid, playing
from examples.demo.stage import Measured, Stage, err, screen
from kappa.airflow_sign_in import users_file
from kappa.core import job_catalog
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.core.versions import Version
from kappa.platform import connect
from kappa.verbs.observation import found
from kappa.verbs.start_point import EARLIEST
from stack.services.passwords import airflow_login
from stack.services.postgres import binaries
from traffic.log import KafkaLog, Log
from traffic.open_bandit_totals import expected_totals
from traffic.sources import Plan

PATIENCE_SECONDS = 180
_QUERY = (
    "select ad_id, sum(impressions), sum(clicks), sum(spend_micros) from serving.ad_ctr_minute "
    "group by 1 order by 4 desc limit 10"
)


class NotRead(Refusal):
    """The jobs did not come to the end of what was played."""

    def __init__(self) -> None:
        super().__init__(
            f"the log was played, and {PATIENCE_SECONDS} s later the jobs have not read to its end. Nothing is lost: "
            "they go on. See './kappa status'; './kappa reconcile' checks the numbers once nothing is unread."
        )


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command()(demo)


def demo(
    first_half: Annotated[bool, typer.Option("--first-half", help="End once the log's numbers were checked.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Let the demo approve its replay by itself.")] = False,
) -> None:
    """Play a real ad log and check its numbers; then change a rule by a replay, approve it, and take it back.

    Starts the stack and deploys the jobs where they are not. Without a terminal it approves by itself, too.
    """
    settings, measured = entry.settings(), Measured()
    with measured.of("stack"):
        bring_up(settings)
    with measured.of("deployment"):
        _deploy(settings)
    live = _live(settings)
    if not first_half:
        demo_replay.check_rule(live)
        demo_replay.check_cores(connect(settings).cluster.capacity().free_cores)
    with looking(settings, served.ROLE) as reader:
        before = {view: served.campaigns(reader, view) for view in served.VIEWS}
        lateness_ms = {job: version.settings["allowed_lateness_ms"] for job, version in live.items()}
        laid, log = log_laid(_now_ms(), min(lateness_ms.values()))
        stage = Stage(settings, reader, laid, expected_totals(), before, measured, yes)
        with playing("the traffic beside", gentle(laid.start_ms, _now_ms()), lambda: _open(settings)):
            _first_half(stage, log, lateness_ms)
            if not first_half:
                demo_replay.second_half(stage)
    _tell(stage)


def _deploy(settings: Settings) -> None:
    err.print("deploying " + ", ".join(job_catalog.JOBS) + " through Airflow")
    platform = connect(settings)
    there = [job for job in job_catalog.JOBS if found(platform, job).current()]
    new = [job for job in job_catalog.JOBS if job not in there]
    asked = lifecycle_verbs.requests(settings, new, EARLIEST, "", {}) if new else []
    outcomes = lifecycle_verbs.deploy(settings, asked, "demo") if asked else []
    outcomes += lifecycle_verbs.start(settings, there, "demo") if there else []
    output.outcomes(outcomes, as_json=False)


def _live(settings: Settings) -> dict[str, Version]:
    platform = connect(settings)
    current = {job: found(platform, job).current() for job in job_catalog.JOBS}
    return {job: version for job, version in current.items() if version}


def _first_half(stage: Stage, log: Plan, lateness_ms: Mapping[str, int]) -> None:
    """Play the log, show what is served until all of it has arrived, and check it. Raises NotRead, NumbersDiffer."""
    err.print(_laid_sentence(stage.laid, _now_ms()))
    with (
        stage.measured.of("play and catch-up"),
        playing("the log", log, lambda: _open(stage.settings)) as source,
    ):
        stage.measured.seconds["first number"] = _watch(stage, source, lateness_ms)
    stage.check()
    stage.measured.weigh(stage.settings)
    err.print(served.numbers(stage.played(), stage.expected))
    impressions, clicks = (sum(sums[n] for sums in stage.expected.values()) for n in (0, 1))
    err.print(
        f"[green]equal:[/] both views serve exactly what the log's six files add up to: {impressions:,} impressions, "
        f"{clicks:,} clicks, to the micro."
    )


def _laid_sentence(laid: Laid, now_ms: int) -> str:
    start, end = (f"{datetime.fromtimestamp(ms / 1000, UTC):%H:%M:%S}" for ms in (laid.start_ms, laid.end_ms))
    return (
        f"playing the log, laid where the oldest event times are that still count ({start} to {end} UTC, "
        f"{laid.back_seconds(now_ms) / 60:.0f} min ago), so that its minutes become final while you watch; beside it "
        f"{RATE:.0f} records/s of other clients"
    )


def _watch(stage: Stage, source: Playing, lateness_ms: Mapping[str, int]) -> float:
    """Show what is served until all that was played has arrived; the seconds to the first number. Raises NotRead."""
    begun, first = time.monotonic(), 0.0
    ended: tuple[float, datetime] | None = None
    with screen() as shown:
        while ended is None or not served.read_past(stage.reader, ended[1], lateness_ms):
            totals = stage.campaigns(served.VIEWS[0])
            first = first or (time.monotonic() - begun if totals else 0.0)
            tables = Group(served.numbers(stage.played(), stage.expected), served.freshness(stage.reader))
            shown.show(tables, f"served {served.line(totals)}")
            if ended is None and source.ended:
                ended = time.monotonic(), datetime.now(UTC)
            if ended and time.monotonic() > ended[0] + PATIENCE_SECONDS:
                raise NotRead
            time.sleep(0.5)
    return first


def _open(settings: Settings) -> Log:
    return KafkaLog(settings.kafka_access(KafkaUser.PRODUCER).librdkafka(), settings.topic.name)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _tell(stage: Stage) -> None:
    """What it took, and where to look further."""
    settings = stage.settings
    stage.measured.weigh(settings)
    err.print("seconds: " + ", ".join(f"{part} {taken:.0f}" for part, taken in stage.measured.seconds.items()))
    free = shutil.disk_usage(settings.home).free
    err.print(f"memory of the whole stack: {stage.measured.memory / 1e9:.1f} GB; {free / 1e9:.0f} GB of disk left")
    user, password = airflow_login(settings, "admin")
    shown = password if err.is_terminal else f"(in {users_file(settings)})"
    err.print(f"\nAirflow: {settings.airflow_url}   user {user}, password {shown}", markup=False)
    err.print("look further: ./kappa status, ./kappa reconcile, or ask Postgres yourself:", markup=False)
    err.print(f"""  {binaries() / "psql"} "{settings.dsn("kappa_reader")}" -c "{_QUERY}\"""", markup=False)
    err.print("stop everything: ./kappa down", markup=False)
