"""The command `produce`: play a log into the topic."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from cli.entry import settings
from kappa.core.installation.kafka_access import KafkaUser
from traffic import mapping, open_bandit
from traffic.log import KafkaLog
from traffic.play import Played, SystemClock, play
from traffic.shape import Fractions, Shape
from traffic.sources import Plan, plan_file, plan_open_bandit, plan_synthetic, seconds_of

DEFAULT_COMPRESS = 5_040
_SHOWN_BAD_ROWS = 10
_err = Console(stderr=True)

_COSTS = ", ".join(f"{micros:,}" for micros in open_bandit.IMPRESSION_MICROS.values())
_CLICK_COST = f"{open_bandit.CLICK_MICROS:,}"
_HELP = f"""Play a log into the topic.

open-bandit: ZOZO's Open Bandit log of 24 to 30 November 2019 (60,000 impressions, 287 clicks), moved to
now and {DEFAULT_COMPRESS:,} times faster (--compress), that is in two minutes. Costs: an impression
{_COSTS} micros by position 1, 2, 3;
a click {_CLICK_COST} micros, two seconds of play later. --rate sets the compression that gives that rate on
average; --full-speed sends all at once, event times ending now.

synthetic: seeded traffic at --rate (event times are now), else at full speed with event times over the
last --span.

A file: one event a row; --map and --set say where each field comes from; event_time is epoch milliseconds
or ISO 8601 with an offset. A row that makes no event is reported with its line and skipped, and the command
ends with exit code 1.
"""

Part = Annotated[float, typer.Option(help="Fraction of all records (synthetic).", show_default=True)]


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command(help=_HELP)(produce)


class BadRows:
    """Counts the rows of a file that were skipped, and shows the first few."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, line: int, reason: str) -> None:
        """Hear of one."""
        self.count += 1
        if self.count <= _SHOWN_BAD_ROWS:
            _err.print(f"line {line}: {reason}", markup=False, highlight=False)


def produce(
    source: Annotated[str, typer.Option(help="open-bandit, synthetic, or a file (.csv, .ndjson, .jsonl, .json)")],
    rate: Annotated[float | None, typer.Option(min=0.001, help="Records per second, by an open loop.")] = None,
    full_speed: Annotated[bool, typer.Option("--full-speed", help="As fast as it goes.")] = False,
    compress: Annotated[
        int, typer.Option(min=1, help="open-bandit: how many times faster than it happened.")
    ] = DEFAULT_COMPRESS,
    map_: Annotated[list[str] | None, typer.Option("--map", help="File: FIELD=COLUMN, repeatable.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="File: FIELD=VALUE, repeatable.")] = None,
    as_is: Annotated[bool, typer.Option("--as-is", help="File: check nothing, send rows as they are.")] = False,
    records: Annotated[int, typer.Option(min=1, help="Synthetic: records in all.")] = 100_000,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Synthetic: same seed, same traffic; random if absent.")
    ] = None,
    span: Annotated[str, typer.Option(help="Synthetic at full speed: event times over the last SPAN.")] = "110m",
    ads: Annotated[int, typer.Option(help="Synthetic: number of ads, drawn by Zipf.")] = Shape.ads,
    clients: Annotated[int, typer.Option(help="Synthetic: number of clients.")] = Shape.clients,
    users: Annotated[int, typer.Option(help="Synthetic: number of users.")] = Shape.users,
    ctr: Annotated[float, typer.Option(help="Synthetic: clicks per impression.")] = Shape.ctr,
    resends: Part = 0.0,
    repeated_clicks: Part = 0.0,
    repeat_within: Annotated[
        str, typer.Option(help="Synthetic: a repeated click lies in the same interval of this length; divides 60s.")
    ] = f"{Shape.repeat_within_ms // 1000}s",
    out_of_order: Part = 0.0,
    late: Part = 0.0,
    future: Part = 0.0,
    malformed: Part = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="The summary as JSON on stdout.")] = False,
) -> None:
    """See _HELP."""
    if rate is not None and full_speed:
        raise typer.BadParameter("give --rate or --full-speed, not both")
    bad, now_ms = BadRows(), time.time_ns() // 1_000_000
    if source == "open-bandit":
        seed, plan = None, plan_open_bandit(now_ms, compress, rate, full_speed)
    elif source == "synthetic":
        seed = secrets.randbelow(2**31) if seed is None else seed
        _err.print(f"seed {seed}")
        within = round(seconds_of(repeat_within) * 1000)
        fractions = Fractions(out_of_order, resends, repeated_clicks, late, future, malformed)
        shape = Shape(seed, records, ads, clients, users, ctr=ctr, repeat_within_ms=within, fractions=fractions)
        plan = plan_synthetic(now_ms, shape, seconds_of(span), rate)
    else:
        seed, plan = None, plan_file(Path(source), mapping.parse(map_ or [], set_ or []), rate, as_is, bad)
    played = _play(plan)
    _tell(played, {"source": source, "seed": seed, "skipped": bad.count}, as_json)
    if played.failed or bad.count:
        raise typer.Exit(1)


def _play(plan: Plan) -> Played:
    stack = settings()
    log = KafkaLog(stack.kafka_access(KafkaUser.PRODUCER).librdkafka(), stack.topic.name)
    columns = (TextColumn("producing"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=_err, transient=True) as progress:
        task = progress.add_task("producing", total=plan.total)
        return play(plan.records, log, SystemClock(), plan.paced, lambda sent: progress.update(task, completed=sent))


def _tell(played: Played, about: dict[str, object], as_json: bool) -> None:
    if as_json:
        summary = {**about, **asdict(played), "records_per_second": round(played.per_second, 1)}
        typer.echo(json.dumps({name: value for name, value in summary.items() if value is not None}))
        return
    table = Table(title=f"{played.records:,} records in {played.seconds:.1f} s, {played.per_second:,.0f} records/s")
    table.add_column("kind")
    table.add_column("records", justify="right")
    for kind, count in played.kinds.items():
        table.add_row(kind.replace("_", " "), f"{count:,}")
    Console().print(table)
    if played.behind_s > 1:
        _err.print(f"[yellow]up to {played.behind_s:.1f} s behind the schedule[/]: the rate is too high here")
    if about["skipped"]:
        _err.print(f"[red]{about['skipped']} rows were skipped[/]; --as-is sends them as they are")
    if played.failed:
        _err.print(f"[red]{played.failed:,} records were not delivered[/], the first: {played.first_error}")
