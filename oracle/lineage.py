"""From a served number to all that stands behind it: look at one moment, read its records from the log, hold them
against what is served."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from kappa.core.refusals import Refusal
from oracle.compare import Difference
from oracle.decode import LogRecord
from oracle.explain import Examined, Fated, Number, Part, Total, added, examine, held_against, totals
from oracle.fates import Row

_TELL_EVERY = 10_000
Place = tuple[int, int]
"""(partition, offset)."""


class NoSuchNumber(Refusal):
    """There is no such row, and no record that could be one."""

    def __init__(self, number: Number, why: str) -> None:
        super().__init__(
            f"{number.view} has no row of {number.key}: {why}. Ids count as they are written; a minute is in UTC "
            "unless it has a zone, a day is the client's own."
        )


class RecordsGone(Refusal):
    """Retention may have removed records of the number."""

    def __init__(self, number: Number, part: Part, partition: int, first: int) -> None:
        super().__init__(
            f"{number.key} can no longer be shown: version {part.version} read partition {partition} from offset "
            f"{part.start[partition]}, but the log begins at {first} by now, within the time in which its records were "
            "appended. What is served was not touched; ops.accounting still has the sums."
        )


class OtherLog(Refusal):
    """The topic ends before what the version has read: it is not the one that the version read."""

    def __init__(self, number: Number, part: Part, partition: int, end: int) -> None:
        super().__init__(
            f"{number.key} cannot be shown: version {part.version} read partition {partition} up to offset "
            f"{part.end[partition]}, but the log ends at {end}: the topic was made anew. The runbook has an entry."
        )


@dataclass(frozen=True)
class Behind:
    """A part and what stands behind it, as the database has it: the version (artifact, state_digest, result_digest,
    settings, state, topic, ...) and the newest release that made it serve these windows, None without one."""

    part: Part
    version: Mapping[str, Any]
    release: Mapping[str, Any] | None


@dataclass(frozen=True)
class Moment:
    """What is served of a number (None: no row) and by whom, as of one moment; no `parts`: no version serves it."""

    served: Mapping[str, Any] | None
    parts: tuple[Behind, ...]


@dataclass(frozen=True)
class Batch:
    """A micro-batch: `offsets`: partition -> (first, after the last). Old ones are kept as one for an hour: `batch_id`
    is then the first one's, `last_batch_id`, `epoch` and `committed_at` the last one's."""

    generation: int
    batch_id: int
    epoch: int
    committed_at: datetime
    offsets: Mapping[int, tuple[int, int]]
    last_batch_id: int | None = None


@dataclass(frozen=True)
class Origin:
    """All that stands behind one part: `batches` are those that hold its records, `differences` name records that are
    not in exactly one batch."""

    behind: Behind
    examined: Examined
    batches: tuple[Batch, ...]
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Lineage:
    """A number explained; without `differences` the log adds up to what is served."""

    number: Number
    served: Mapping[str, Any] | None
    row: Row | None
    origins: tuple[Origin, ...]
    differences: tuple[Difference, ...]

    @property
    def records(self) -> list[Fated]:
        """The records of all parts, by append time."""
        found = [record for origin in self.origins for record in origin.examined.records]
        return sorted(found, key=lambda each: (each.append_time, each.partition, each.offset))

    @property
    def fates(self) -> dict[str, Total]:
        """Records and micros by fate."""
        return totals(self.records)


class Registry(Protocol):
    """Where the served numbers are and who made them."""

    def moment(self, number: Number) -> Moment:
        """What is served of a number, and by whom, in one transaction."""

    def batches(self, job: str, version: int, within: Mapping[int, tuple[int, int]]) -> Sequence[Batch]:
        """The version's batches that read anything of these offsets (partition -> (first, last)), in order."""


class Log(Protocol):
    """The topic, read in part."""

    def bounds(self) -> dict[int, tuple[int, int]]:
        """partition -> (first offset, offset after the last), now."""

    def since(self, append_ms: int) -> dict[int, int]:
        """partition -> offset of the first record with that append_time or a later one; its end where there is none."""

    def stretch(self, starts: Mapping[int, int], ends: Mapping[int, int], until_ms: int) -> Iterator[LogRecord]:
        """Each partition's records from its start to before its end, or to before the first one that the broker
        stamped `until_ms` or later."""


def trace(
    registry: Registry, open_log: Callable[[str], Log], number: Number, tell: Callable[[int], None] = lambda _: None
) -> Lineage:
    """Explain a number; `open_log` takes a topic's name.

    Compared is what the version had committed when the row was read. Raises NoSuchNumber, RecordsGone, OtherLog and the
    refusals of the ports.
    """
    moment = registry.moment(number)
    if not moment.parts:
        raise NoSuchNumber(number, "no version serves that time")
    origins = tuple(_origin(registry, open_log(str(b.version["topic"])), number, b, tell) for b in moment.parts)
    row = added(origin.examined.row for origin in origins)
    if moment.served is None and not any(origin.examined.records for origin in origins):
        raise NoSuchNumber(number, "none of the records that its version has read is one of it")
    differences = held_against(number, row, moment.served)
    differences += [difference for origin in origins for difference in origin.differences]
    return Lineage(number, moment.served, row, origins, tuple(differences))


def _origin(registry: Registry, log: Log, number: Number, behind: Behind, tell: Callable[[int], None]) -> Origin:
    part = behind.part
    since, until = part.span
    starts, ends = stretch_of(number, part, log.bounds(), log.since(since))
    examined = examine(number, part, _told(log.stretch(starts, ends, until), tell))
    places = [(record.partition, record.offset) for record in examined.records]
    near = registry.batches(number.job, part.version, _hull(places)) if places else ()
    batches, times = holding(near, places)
    return Origin(behind, examined, batches, tuple(unbatched(number, part.version, places, times)))


def stretch_of(
    number: Number, part: Part, bounds: Mapping[int, tuple[int, int]], since: Mapping[int, int]
) -> tuple[dict[int, int], dict[int, int]]:
    """From and to which offset the part's records must be looked for, given where the log begins and ends and where the
    span begins. Raises RecordsGone, OtherLog."""
    starts, ends = {}, {}
    for partition, start in part.start.items():
        low, high = bounds.get(partition, (0, 0))
        end = part.end.get(partition, start)
        if end > high:
            raise OtherLog(number, part, partition, high)
        if start < low and since.get(partition, low) <= low:
            raise RecordsGone(number, part, partition, low)
        starts[partition], ends[partition] = max(start, since.get(partition, end)), end
    return starts, ends


def holding(batches: Iterable[Batch], places: Iterable[Place]) -> tuple[tuple[Batch, ...], Counter[Place]]:
    """The batches that read at least one of these places, and how many batches read each."""
    offsets: defaultdict[int, list[int]] = defaultdict(list)
    for partition, offset in sorted(places):
        offsets[partition].append(offset)
    kept, times = [], Counter[Place]()
    for batch in batches:
        held = [
            (partition, offset)
            for partition, (first, end) in batch.offsets.items()
            for offset in offsets[partition][
                bisect_left(offsets[partition], first) : bisect_left(offsets[partition], end)
            ]
        ]
        times.update(held)
        kept += [batch] if held else []
    return tuple(kept), times


def unbatched(number: Number, version: int, places: Iterable[Place], times: Mapping[Place, int]) -> list[Difference]:
    """The places that are not in exactly one batch of the version."""
    return [
        Difference(
            number.job, "ops.batches", f"version {version}, partition {partition}, offset {offset}",
            "batches that read it", 1, times.get((partition, offset), 0),
        )
        for partition, offset in places
        if times.get((partition, offset), 0) != 1
    ]  # fmt: skip


def _hull(places: Iterable[Place]) -> dict[int, tuple[int, int]]:
    """partition -> (first, last) offset."""
    found: dict[int, tuple[int, int]] = {}
    for partition, offset in places:
        first, last = found.get(partition, (offset, offset))
        found[partition] = min(first, offset), max(last, offset)
    return found


def _told(records: Iterable[LogRecord], tell: Callable[[int], None]) -> Iterator[LogRecord]:
    for count, record in enumerate(records, 1):
        if count % _TELL_EVERY == 0:
            tell(count)
        yield record
