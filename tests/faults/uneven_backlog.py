"""Uneven backlog: partitions whose append times reach back unevenly far, read in small batches, must lose nothing.

Command: python -m tests.faults.uneven_backlog [--hours 6] [--minutes 30] [--records 60000] [--json]; needs libfaketime.
The same log is read three times: as it is meant, without the read skew in the delay, and without the guard as well.
Every batch evicts, as one in about two hours does otherwise: only that drops what is behind the watermark.
Exit 1 if the first two lose a record, or the last one, the check of the check, loses and refuses nothing.
"""

from __future__ import annotations

import secrets
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from bench import report
from kappa.core.installation.kafka_access import KafkaUser
from oracle.postgres import PostgresDatabase
from oracle.reconcile import JobVerdict, SystemClock, reconcile
from oracle.topic import KafkaTopic
from stack.layout import Layout
from tests.rigs.moved_broker import library, moved_stack
from tests.rigs.staged_driver import Staged, stage
from tests.rigs.uneven_traffic import UnevenProducer, chunks

ACCEPTED = ("counted", "duplicate", "repeated_click")
RUNS: dict[str, tuple[str, ...]] = {
    "as it is": (),
    "skew forced to 0": ("skew",),
    "skew 0, no guard": ("skew", "guard"),
}
_SEEN = """
select coalesce(sum(seen_impressions + seen_clicks), 0)::bigint from data.ad_ctr_minute where version = %(version)s
"""
_STATE = """
select (select state from ops.versions where job = %(job)s and version = %(version)s),
    (select count(*) from ops.batches where job = %(job)s and version = %(version)s),
    (select string_agg(detail, '; ') from ops.red_lines where job = %(job)s and version = %(version)s)
"""


def main(
    hours: Annotated[float, typer.Option(min=0.1, help="Append times of partition 0.")] = 6.0,
    minutes: Annotated[float, typer.Option(min=0, help="Append times of partition 1.")] = 30.0,
    step: Annotated[int, typer.Option(min=1, help="Seconds by which the broker's clock is moved at a time.")] = 600,
    records: Annotated[int, typer.Option(min=100, help="Two thirds in partition 0, one in 1.")] = 60_000,
    batch: Annotated[int, typer.Option(min=100, help="Most records a batch reads.")] = 2_000,
    within: Annotated[float, typer.Option(min=1, help="Seconds a run may take.")] = 900.0,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the traffic; random if absent.")] = None,
    library_: Annotated[
        Path | None, typer.Option("--library", help="libfaketimeMT.so.1, where it is elsewhere.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave logs and data where they are.")] = False,
    as_json: report.Json = False,
) -> None:
    """Make the log by a broker whose clock is moved, and read it with and without the safeguards."""
    to_load = library(library_)
    seed = secrets.randbelow(2**31) if seed is None else seed
    report.say(f"seed {seed}")
    long = round(hours * 3600)
    planned = chunks(long, round(minutes * 60), step, (records - records // 3, records // 3))
    with moved_stack(to_load, 2, long, keep) as (layout, clock):
        UnevenProducer(layout.settings, clock, seed).append(planned)
        spans = append_spans(layout)
        runs = {name: one_run(layout, without, batch, within) for name, without in RUNS.items()}
    _tell({"seed": seed, "records": records, "append_hours": spans, "runs": runs}, as_json)
    if problem := verdict(runs):
        report.say(problem)
        raise typer.Exit(1)


def verdict(runs: dict[str, dict[str, Any]]) -> str | None:
    """What is not as it must be; None where all is well."""
    *guarded, bare = runs
    for name in guarded:
        if not runs[name]["in_time"] or runs[name]["lost"] or runs[name]["unread"] or runs[name]["differences"]:
            return f"{name}: records were lost, left unread or counted wrong"
    if not (runs[bare]["lost"] or runs[bare]["state"] == "FAILED"):
        return f"{bare}: nothing was lost or refused, so this log does not put the safeguards to the test"
    return None


def append_spans(layout: Layout) -> dict[int, float]:
    """Partition -> hours between its oldest and its newest append_time, by the log itself."""
    topic = KafkaTopic(layout.settings.kafka_access(KafkaUser.READER).librdkafka(), layout.settings.topic.name)
    found: dict[int, tuple[int, int]] = {}
    for record in topic.records({partition: end for partition, (_, end) in topic.bounds().items()}):
        least, most = found.get(record.partition, (record.append_time, record.append_time))
        found[record.partition] = (min(least, record.append_time), max(most, record.append_time))
    return {partition: round((most - least) / 3_600_000, 2) for partition, (least, most) in sorted(found.items())}


def one_run(layout: Layout, without: tuple[str, ...], batch: int, within: float) -> dict[str, Any]:
    """One version of ad_ctr over the whole log, and what the oracle says of it."""
    staged = stage(layout, "ad_ctr", {"records_per_batch": batch, "cadence_ms": 0})
    report.say(f"{staged.job} v{staged.version} reads the log" + "".join(f", without {name}" for name in without))
    ended = staged.run(without, within)
    state, batches, said = _state(staged)
    judged = _judged(layout, staged)
    accepted = sum(judged.fates.get(fate, 0) for fate in ACCEPTED)
    seen = int(staged.query(_SEEN)[0][0])
    return {
        **asdict(ended),
        "state": state,
        "said": said,
        "batches": batches,
        "read": judged.read,
        "unread": judged.unread,
        "accepted": accepted,
        "seen": seen,
        "lost": accepted - seen,
        "differences": len(judged.differences),
    }


def _state(staged: Staged) -> tuple[str, int, str | None]:
    state, batches, said = staged.query(_STATE)[0]
    return state, batches, said


def _judged(layout: Layout, staged: Staged) -> JobVerdict:
    """The recount of what this version has committed."""
    stack = layout.settings
    topic = KafkaTopic(stack.kafka_access(KafkaUser.READER).librdkafka(), stack.topic.name)
    database = PostgresDatabase(stack.dsn("kappa_operator"))
    (judged,) = reconcile(topic, database, frozenset({staged.job}), 0, SystemClock()).jobs
    return judged


def _tell(outcome: dict[str, Any], as_json: bool) -> None:
    if as_json:
        report.document(outcome)
        return
    spans = ", ".join(f"partition {p}: {hours} h" for p, hours in outcome["append_hours"].items())
    runs: dict[str, dict[str, Any]] = outcome["runs"]
    rows = []
    for name in next(iter(runs.values())):
        values = [figures[name] for figures in runs.values()]
        rows.append((name.replace("_", " "), *(_short(value) for value in values)))
    report.table(f"{outcome['records']:,} records, append times of {spans}, seed {outcome['seed']}", ("", *runs), rows)


def _short(value: object) -> object:
    """A list as its first and last value."""
    if isinstance(value, list):
        return " -> ".join(f"{item:,}" for item in dict.fromkeys((*value[:1], *value[-1:])))
    return str(value) if isinstance(value, bool) else value


if __name__ == "__main__":
    report.run(main)
