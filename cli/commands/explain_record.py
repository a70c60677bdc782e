"""The part of `explain` that is about one record of the log: what a version's own code makes of it."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from cli import entry, output
from kappa.code import known_artifacts, one_record
from kappa.code.one_record import Verdict
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import find
from kappa.core.refusals import Refusal
from kappa.core.versions import Version
from kappa.platform import connect
from kappa.verbs.drivers.launch import version_of
from oracle.decode import LogRecord
from oracle.times import utc
from oracle.topic import KafkaTopic

_PLACE = re.compile(r"(\d{1,9})/(\d{1,18})")


class NotOneRecord(Refusal):
    """What is asked about is no record and version."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"{why}. Ask as './kappa explain JOB --record 0/17 --version 2': partition and offset, and whose code."
        )


class RecordGone(Refusal):
    """The log does not hold the record."""

    def __init__(self, topic: str, place: str, first: int, end: int) -> None:
        super().__init__(
            f"the log has no record {place}: of that partition topic '{topic}' holds offsets {first} to {end - 1}. "
            "What was kept of a refused record can still be downloaded from the console's page Fates."
        )


def show(stack: Settings, job: str, record: str | None, version: int | None, as_json: bool) -> None:
    """Print what a version makes of a record. Raises NotOneRecord, RecordGone, UnknownJob, UnknownVersion, NoVerdict,
    what reading the log, `known_artifacts.find` and `at_hand` raise."""
    if record is None or version is None or not _PLACE.fullmatch(record):
        raise NotOneRecord("--record takes PARTITION/OFFSET and goes with --version")
    asked = version_of(connect(stack), find(job).name, version)
    artifact = known_artifacts.find(stack, asked.artifact)
    with output.working("reading the record") as say:
        found = read(stack, asked.topic, record)
        say(f"asking the code of {job} v{version}, artifact {artifact.digest}")
        with known_artifacts.at_hand(stack, artifact) as there:
            verdict = one_record.ask(entry.CHECKOUT, there, question(found, asked))
    if as_json:
        about = {"job": job, "version": version, "artifact": artifact.digest, "record": record}
        typer.echo(json.dumps({**about, **asdict(verdict)}, indent=2))
        return
    _print(record, found, asked, verdict)


def read(stack: Settings, topic: str, place: str) -> LogRecord:
    """The record at partition/offset. Raises RecordGone, LogUnreadable, UserUnknown."""
    partition, offset = map(int, place.split("/"))
    log = _log(stack, topic)
    first, end = log.bounds().get(partition, (0, 0))
    if not first <= offset < end:
        raise RecordGone(topic, place, first, end)
    return next(log.stretch({partition: offset}, {partition: offset + 1}, 2**62))


def _log(stack: Settings, topic: str) -> KafkaTopic:
    return KafkaTopic(stack.kafka_access(KafkaUser.READER).librdkafka(), topic)


def question(record: LogRecord, version: Version) -> dict[str, Any]:
    """What `jobs/one_record.py` is asked."""
    held = {
        "partition": record.partition, "offset": record.offset, "append_ms": record.append_time,
        "stamped": record.stamped, "key": _hex(record.key), "value": _hex(record.value),
    }  # fmt: skip
    return {"record": held, "settings": dict(version.settings), "starts_at_ms": version.starts_at_ms}


def sentence(verdict: Verdict) -> str:
    """The verdict in words."""
    if verdict.fate is None:
        return "accepted: it counts, unless it repeats a record that came before it"
    return f"refused as {verdict.fate}" + (f": {verdict.reason}" if verdict.reason else "")


def _print(place: str, record: LogRecord, version: Version, verdict: Verdict) -> None:
    shown = Table(show_header=False)
    rows = [
        ("record", f"{place} of topic {version.topic}, appended {utc(record.append_time)}, {_size(record.value)}"),
        ("asked", f"{version.job} v{version.version}, {version.state}, artifact {version.artifact}"),
        *((name, str(value)) for name, value in (verdict.event or {}).items()),
        ("would be", sentence(verdict)),
    ]
    for name, value in rows:
        shown.add_row(f"[bold]{name}[/]", escape(value))
    output.out.print(shown)


def _size(value: bytes | None) -> str:
    return "no value" if value is None else f"{len(value):,} bytes"


def _hex(part: bytes | None) -> str | None:
    return None if part is None else part.hex()
