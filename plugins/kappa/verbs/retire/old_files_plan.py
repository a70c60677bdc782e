"""Which files of the state folder have been kept for long enough, given a listing of them and the present."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from kappa.core.installation.program_output import MOST_BYTES
from kappa.verbs.replay.price import size

Key = tuple[str, int]
"""A job and a version of it."""

DAY = timedelta(days=1)


class Kind(StrEnum):
    """What a file or folder is, in words for people."""

    DRIVER = "drivers' folders"
    EXECUTOR = "executors' folders"
    OUTPUT = "outputs cut to their newest part"
    CHANGE = "folders of changes"
    SCRATCH = "scratch of changes"
    VALIDATION = "validations"
    LIVE_VALIDATION = "validations of what serves"
    TASK_LOG = "task logs"
    PARSE_LOG = "logs of the DAG processor"
    DRAFT = "unfinished builds"


@dataclass(frozen=True)
class Keep:
    """How long each kind is kept: for `ages`; of each version that is not retired the `drivers` newest folders, however
    old; of `validations` that no release names so many; of a program's output `output_bytes`. In Postgres: each batch
    for `batches` before it is folded, the `newest_batches` of a checkpoint however old (as many as Spark's checkpoint
    remembers); a refused record for `refused`."""

    ages: Mapping[Kind, timedelta]
    drivers: int = 3
    validations: int = 200
    output_bytes: int = MOST_BYTES
    batches: timedelta = 3 * DAY
    newest_batches: int = 100
    refused: timedelta = 90 * DAY


KEEP = Keep(
    {
        Kind.DRIVER: DAY,
        Kind.EXECUTOR: DAY,
        Kind.CHANGE: 7 * DAY,
        Kind.SCRATCH: 7 * DAY,
        Kind.VALIDATION: 30 * DAY,
        Kind.LIVE_VALIDATION: 7 * DAY,
        Kind.TASK_LOG: 30 * DAY,
        Kind.PARSE_LOG: 3 * DAY,
        Kind.DRAFT: DAY,
    }
)
"""What every stack keeps (decisions 0034; 0032 for what is in Postgres)."""


@dataclass(frozen=True)
class Found:
    """A file, or a folder with all that is in it: `path` is relative to the state folder, or to the place of its kind,
    `changed_at` the time of the newest file; of what lies in a store that does not tell, the time
    when its change ended, or that its name says."""

    kind: Kind
    path: str
    bytes: int
    changed_at: datetime


@dataclass(frozen=True)
class InUse:
    """What must stay whatever its age: `paths` that a process works in, an open change needs or a release's evidence
    names; `drivers` are the versions, by submission, of all that are not retired."""

    paths: Collection[str] = frozenset()
    drivers: Mapping[str, Key] = field(default_factory=dict)


@dataclass(frozen=True)
class OldFiles:
    """What is to be removed, and the outputs of which only the newest part is kept."""

    gone: tuple[Found, ...]
    cut: tuple[Found, ...]

    def sentence(self) -> str:
        """How much of what, for people."""
        sums = [f"{of['count']} {kind} ({size(of['bytes'])})" for kind, of in self.sums().items()]
        return ", ".join(sums) or "no old files"

    def sums(self) -> dict[str, dict[str, int]]:
        """Number and bytes by kind, as the audit keeps them."""
        counts, sizes = Counter[str](), Counter[str]()
        for one in (*self.gone, *self.cut):
            counts[one.kind] += 1
            sizes[one.kind] += one.bytes
        return {kind: {"count": counts[kind], "bytes": sizes[kind]} for kind in counts}

    def to_json(self) -> dict[str, Any]:
        """The sums for machines."""
        return {"removed": self.sums()}


def decide(found: Iterable[Found], use: InUse, now: datetime, keep: Keep = KEEP) -> OldFiles:
    """What of a listing has been kept for long enough."""
    listed = tuple(found)
    stays = {*use.paths, *_newest_drivers(listed, use.drivers, keep.drivers)}
    spare = set(_surplus(listed, use.paths, keep.validations))
    gone = tuple(
        one
        for one in listed
        if one.kind is not Kind.OUTPUT and one.path not in stays and _is_old(one, now, keep, one.path in spare)
    )
    return OldFiles(gone, tuple(_too_long(listed, {one.path for one in gone}, keep.output_bytes)))


def _is_old(one: Found, now: datetime, keep: Keep, surplus: bool) -> bool:
    """What there is too much of may go after a day."""
    return now - one.changed_at > (DAY if surplus else keep.ages[one.kind])


def _newest_drivers(found: Sequence[Found], drivers: Mapping[str, Key], count: int) -> Iterable[str]:
    """The newest folders of each version: the texts of refusals and the runbook send people there."""
    by_version: dict[Key, list[Found]] = {}
    for one in found:
        version = drivers.get(one.path.rsplit("/", 1)[-1])
        if one.kind is Kind.DRIVER and version is not None:
            by_version.setdefault(version, []).append(one)
    return [one.path for folders in by_version.values() for one in _newest(folders)[:count]]


def _surplus(found: Sequence[Found], named: Collection[str], count: int) -> Iterable[str]:
    """The oldest of the validations that nothing names, beyond a number of them."""
    free = [one for one in found if one.kind is Kind.VALIDATION and one.path not in named]
    return [one.path for one in _newest(free)[count:]]


def _newest(found: Iterable[Found]) -> list[Found]:
    return sorted(found, key=lambda one: (one.changed_at, one.path), reverse=True)


def _too_long(found: Sequence[Found], gone: Collection[str], most: int) -> Iterable[Found]:
    """Outputs over their limit, each with the bytes that go; those whose folder goes are not worth it."""
    for one in found:
        if one.kind is Kind.OUTPUT and one.bytes > most and not any(one.path.startswith(f"{path}/") for path in gone):
            yield Found(one.kind, one.path, one.bytes - most, one.changed_at)
