"""A number's lineage as tables for people and as a document for machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from rich.markup import escape
from rich.table import Table

from cli import output
from kappa.code import known_artifacts
from kappa.code.artifacts import AmbiguousArtifact, UnknownArtifact
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import Effect, find
from kappa.core.store.location import StoreAway
from oracle.explain import Fated, expected
from oracle.fates import MINUTE_MS
from oracle.lineage import Batch, Lineage, Origin
from oracle.times import utc
from stack.status.job_detail import shown as plain

_MICROS = 1_000_000
_BATCHES = 10
Fact = tuple[str, str]


def show(told: Lineage, known_by: Settings, most: int) -> None:
    """Print a lineage with at most `most` of its records; `known_by` says where artifacts are."""
    _facts(f"{told.number.view}: {told.number.key}", served(told))
    for origin in told.origins:
        _facts(f"made by {told.number.job} v{origin.behind.part.version}", facts(told.number.job, origin, known_by))
        _batches(origin)
    totals = [(fate, f"{t.records:,}", money(t.micros)) for fate, t in told.fates.items()]
    output.table("fate", ("records", "spend"), totals)
    records = told.records
    title = (*_HEADINGS, "version") if len(told.origins) > 1 else _HEADINGS
    output.table(title[0], title[1:], [record_row(record)[: len(title)] for record in records[:most]])
    if len(records) > most:
        output.out.print(f"and {len(records) - most:,} more records; --records {len(records)} or --json has them all")
    output.out.print(f"[{'red' if told.differences else 'green'}]{escape(sentence(told))}[/]")


def sentence(told: Lineage) -> str:
    """Whether the records add up to what is served."""
    if told.differences:
        return f"NOT EQUAL: {len(told.differences):,} differences between what is served and what the log adds up to"
    spend = 0 if told.row is None else told.row.spend_micros
    counted = told.fates["counted"].records if "counted" in told.fates else 0
    return f"equal: the {counted:,} counted records add up to what is served, {spend:,} micros, to the micro"


def served(told: Lineage) -> list[Fact]:
    """The served row."""
    if told.served is None:
        return [("served", "nothing: no record was accepted")]
    amounts = {"spend_micros", "budget_micros"}
    return [(name, money(value) if name in amounts else _text(value)) for name, value in told.served.items()]


def facts(job: str, origin: Origin, known_by: Settings) -> list[Fact]:
    """Who made a part, in the order in which one asks."""
    part, version, examined = origin.behind.part, origin.behind.version, origin.examined
    windows = f"{utc(min(part.minutes))} to {utc(max(part.minutes) + MINUTE_MS)}"
    since, until = part.span
    offsets = " ".join(f"{p}:{first}-{end - 1}" for p, (first, end) in sorted(examined.read.items()))
    return [
        ("windows", windows),
        ("release", _release(origin.behind.release)),
        ("validation", _validation(origin.behind.release)),
        ("version", f"v{part.version}, {version['state']}, made {version['created_at']:%Y-%m-%d %H:%M:%S}"),
        ("starts", "with the log" if part.rules.starts_at is None else f"at {utc(part.rules.starts_at)}"),
        ("artifact", f"{version['artifact']}, {code(known_by, str(version['artifact']))}"),
        ("result digest", str(version["result_digest"])),
        ("settings that change results", _settings(result_settings(job, version["settings"]))),
        ("log", f"topic {version['topic']}, appended {utc(since)} to {utc(until)}"),
        ("offsets read", f"{offsets or 'none'} ({examined.count:,} records)"),
    ]


def result_settings(job: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Of a version's settings those that can change a number."""
    return {s.name: given[s.name] for s in find(job).settings if s.effect is Effect.RESULT and s.name in given}


def code(known_by: Settings, digest: str) -> str:
    """Where the code comes from; why it cannot be told where its artifact is gone."""
    try:
        found = known_artifacts.find(known_by, digest)
    except (UnknownArtifact, AmbiguousArtifact, StoreAway) as problem:
        return str(problem)
    return f"built {found.created_at:%Y-%m-%d %H:%M:%S} from commit {found.commit or 'unknown'}"


def to_json(told: Lineage, known_by: Settings) -> dict[str, Any]:
    """The whole lineage as JSON knows it; `records` are all of them."""
    number = told.number
    wanted = None if told.row is None else expected(number, told.row)
    return {
        "job": number.job,
        "view": number.view,
        "client_id": number.client_id,
        "ad_id": number.ad_id,
        "minute": None if number.minute is None else utc(number.minute),
        "day": None if number.day is None else number.day.isoformat(),
        "served": None if told.served is None else {name: _json(value) for name, value in told.served.items()},
        "recomputed": wanted,
        "matches": not told.differences,
        "differences": [asdict(each) for each in told.differences],
        "fates": {fate: asdict(total) for fate, total in told.fates.items()},
        "made_by": [_made_by(number.job, origin, known_by) for origin in told.origins],
        "records": [_record(record) for record in told.records],
    }


_HEADINGS = ("appended", "partition", "offset", "event time", "type", "spend", "fate", "counted instead")


def record_row(record: Fated) -> tuple[str, ...]:
    """A record as the table shows it, its version last."""
    return (
        utc(record.append_time), str(record.partition), str(record.offset), utc(record.event_time), record.event_type,
        money(record.cost_micros), record.fate, "" if record.first is None else f"offset {record.first}",
        f"v{record.version}",
    )  # fmt: skip


def money(micros: int | None) -> str:
    """Micros as an amount with six decimal places."""
    return "" if micros is None else f"{Decimal(micros) / _MICROS:,.6f}"


def _facts(title: str, rows: Iterable[Fact]) -> None:
    output.out.print(f"[bold]{escape(title)}[/]", soft_wrap=True)
    table = Table(show_header=False)
    for name, value in rows:
        table.add_row(f"[bold]{escape(name)}[/]", escape(value))
    output.out.print(table)


def _batches(origin: Origin) -> None:
    """The batches that read its records; of many the first ones."""
    rows = [
        (f"g{b.generation} {_ids(b)}", f"{b.committed_at:%Y-%m-%d %H:%M:%S}", str(b.epoch), _ranges(b.offsets))
        for b in origin.batches[:_BATCHES]
    ]
    output.table("batch", ("committed", "epoch", "offsets, by partition"), rows)
    if len(origin.batches) > _BATCHES:
        output.out.print(f"and {len(origin.batches) - _BATCHES:,} more batches; --json has them all")


def _ranges(offsets: Mapping[int, tuple[int, int]]) -> str:
    return " ".join(f"{p}:{first}-{end - 1}" for p, (first, end) in sorted(offsets.items()) if first < end)


def _release(release: Mapping[str, Any] | None) -> str:
    if release is None:
        return "none that names it"
    approved = f", approved by {release['approved_by']}" if release["approved_by"] else ""
    first = ", the first deployment" if release["evidence"].get("first_deployment") else ""
    at = f"{release['promoted_at']:%Y-%m-%d %H:%M:%S}"
    return f"{release['release_id']} of {at} by {release['promoted_by']}{approved}{first}"


def _validation(release: Mapping[str, Any] | None) -> str:
    """What the release's evidence says of it, in words where it can be."""
    evidence = {} if release is None else release["evidence"]
    held = evidence.get("validation")
    if not held:
        first = evidence.get("first_deployment")
        return "none: a first deployment has nothing to be held against" if first else "none in the release"
    if not isinstance(held, Mapping):
        return str(held)
    verdict = "passed" if held.get("success") else "NOT passed"
    rows = held.get("compared_rows")
    return verdict if rows is None else f"{verdict}, {rows:,} rows compared"


def _settings(given: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in given.items())


def _made_by(job: str, origin: Origin, known_by: Settings) -> dict[str, Any]:
    behind, part = origin.behind, origin.behind.part
    version = {name: value for name, value in behind.version.items() if name not in ("settings", "start_offsets")}
    since, until = part.span
    return {
        **plain(version),
        "code": code(known_by, str(behind.version["artifact"])),
        "result_settings": result_settings(job, behind.version["settings"]),
        "from_window": utc(min(part.minutes)),
        "to_window": utc(max(part.minutes) + MINUTE_MS),
        "release": None if behind.release is None else plain(behind.release),
        "appended": [utc(since), utc(until)],
        "read": {
            "records": origin.examined.count,
            "offsets": {str(p): list(ends) for p, ends in origin.examined.read.items()},
        },
        "batches": [plain({**vars(batch)}) for batch in origin.batches],
    }


def _record(record: Fated) -> dict[str, Any]:
    return {**asdict(record), "append_time": utc(record.append_time), "event_time": utc(record.event_time)}


def _ids(batch: Batch) -> str:
    """A batch's id; of old batches, of which an hour is kept as one, the first and the last."""
    last = batch.last_batch_id
    return str(batch.batch_id) if last in (None, batch.batch_id) else f"{batch.batch_id}-{last}"


def _json(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value


def _text(value: Any) -> str:
    return "" if value is None else f"{value:,}" if type(value) is int else str(value)
