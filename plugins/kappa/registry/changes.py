"""The changes of versions in Postgres: what a version is to run as instead, and how far that has come."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from kappa.core.changes import ENDED, Change, Mark, Phase, RunsAs
from kappa.core.checkpoint.reader import Planned
from kappa.core.versions import Desired
from kappa.registry.port import UnknownVersion, Unsettled
from kappa.registry.transactions import Connection, Database, take_turn
from kappa.registry.versions import revive

_CHANGE = "select change_id, job, version, verb, run_id, desired, old, new, phase, marks from registry.change "
_OPEN = _CHANGE + "where job = %s and version = %s and ended_at is null"
_BEGIN = """
insert into registry.change (change_id, job, version, verb, run_id, desired, old, new)
select %(change_id)s, job, version, %(verb)s, %(run_id)s, %(desired)s, %(old)s, %(new)s
from registry.job_version where job = %(job)s and version = %(version)s"""
_ADVANCE = """
update registry.change set phase = %(phase)s, ended_at = case when %(ends)s then clock_timestamp() end
where change_id = %(change_id)s"""
# The first time stays: of two values for one key, `||` keeps that of its right side.
_MARK = """
update registry.change set marks = jsonb_build_object(%(mark)s::text,
    to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')) || marks
where change_id = %(change_id)s"""
_DESIRE = """
update registry.job_version set desired = %(desired)s, updated_at = clock_timestamp()
where job = %(job)s and version = %(version)s and desired <> %(desired)s"""
_RUN_AS = """
update registry.job_version set artifact = %(artifact)s, settings = %(settings)s, generation = %(generation)s,
    updated_at = clock_timestamp()
where job = %(job)s and version = %(version)s"""
_NOT_FAILED = "delete from registry.red_line where job = %(job)s and version = %(version)s and what = 'failed'"
_NEXT_GENERATION = """
select 1 + greatest(v.generation,
    (select max(g.generation) from registry.generation g where (g.job, g.version) = (v.job, v.version)),
    (select max((c.new ->> 'generation')::integer) from registry.change c
        where (c.job, c.version) = (v.job, v.version))) as next
from registry.job_version v where v.job = %s and v.version = %s"""

_FOLDER = """
select folder from registry.generation where job = %s and version = %s and generation = %s"""
_HAS_BATCHES = """
select exists (select from registry.batch where job = %s and version = %s and generation = %s) as told"""
_NEWEST_BATCHES = """
select batch_id, end_offsets, round(extract(epoch from watermark) * 1000)::bigint as watermark_ms from registry.batch
where job = %s and version = %s and generation = %s and watermark is not null order by batch_id desc limit 2"""
_IS_FREE = "select pg_try_advisory_xact_lock_shared(hashtextextended(%s, 0)) as told"


@dataclass(frozen=True)
class PostgresChanges:
    """The part of the Registry that makes a version run as something else."""

    database: Database

    def open_change(self, job: str, version: int) -> Change | None:
        """The change that has not ended, if any."""
        with self.database.transaction() as connection:
            return _open(connection, job, version)

    def change(self, change_id: UUID) -> Change:
        """A change as it is now. Raises LookupError."""
        with self.database.transaction() as connection:
            return _one(connection, change_id)

    def begin_change(self, change: Change) -> Change:
        """Write down the intent to change a version; the change as it is where this run has written it already.

        Raises Unsettled, UnknownVersion.
        """
        with self.database.transaction() as connection:
            take_turn(connection, change.job)
            known = _known(connection, change)
            if known is None and not connection.execute(_BEGIN, _row(change)).rowcount:
                raise UnknownVersion(change.job, change.version)
            return known or _one(connection, change.change_id)

    def next_generation(self, job: str, version: int) -> int:
        """A number that no checkpoint of the version has had, finished or not. Raises UnknownVersion."""
        with self.database.transaction() as connection:
            row = connection.execute(_NEXT_GENERATION, [job, version]).fetchone()
            if row is None:
                raise UnknownVersion(job, version)
            return int(row["next"])

    def folder(self, job: str, version: int, generation: int) -> str:
        """The folder of a generation of the version's checkpoint, below the version's own."""
        with self.database.transaction() as connection:
            row = connection.execute(_FOLDER, [job, version, generation]).fetchone()
        return (row["folder"] if row else None) or f"g{generation}"

    def hold(self, change_id: UUID) -> None:
        """Phase HELD: the version is wanted stopped until the change has ended, whatever its operator wants."""
        with self.database.transaction() as connection:
            if change := _advance(connection, change_id, {Phase.BEGUN}, Phase.HELD):
                _desire(connection, change, Desired.STOPPED)

    def switch(self, change_id: UUID) -> None:
        """Phase SWITCHED: the version is what the change makes of it, and wanted as the change says."""
        with self.database.transaction() as connection:
            if change := _advance(connection, change_id, {Phase.BEGUN, Phase.HELD}, Phase.SWITCHED):
                _run_as(connection, change, change.new)
                _desire(connection, change, change.wanted)

    def end_change(self, change_id: UUID, phase: Phase) -> None:
        """End the change: DONE; or UNDONE, which gives the version back what it ran as, and a failed one that serves
        the live end its state LIVE.

        The version is wanted as the change says, or as it was before one that is undone. A change that has ended stays
        as it ended.
        Raises ValueError for a phase that is no end.
        """
        if phase not in ENDED:
            raise ValueError(f"a change does not end as {phase}")
        with self.database.transaction() as connection:
            take_turn(connection, _one(connection, change_id).job)
            if before := _advance(connection, change_id, set(Phase) - ENDED, phase):
                if (before.phase, phase) == (Phase.SWITCHED, Phase.UNDONE):
                    _run_as(connection, before, before.old)
                    if revive(connection, before.job, before.version):
                        connection.execute(_NOT_FAILED, _key(before))
                _desire(connection, before, before.wanted if phase is Phase.DONE else before.desired)

    def mark(self, change_id: UUID, mark: Mark) -> None:
        """Keep the time of a moment of a change; the first time counts."""
        with self.database.transaction() as connection:
            _mark(connection, change_id, mark)

    def has_batches(self, job: str, version: int, generation: int) -> bool:
        """Whether a batch was committed from that generation of the checkpoint."""
        with self.database.transaction() as connection:
            return _told(connection, _HAS_BATCHES, [job, version, generation])

    def newest_batches(self, job: str, version: int, generation: int) -> Mapping[int, Planned]:
        """End and watermark of the two newest batches that were committed from that generation, by id."""
        with self.database.transaction() as connection:
            rows = connection.execute(_NEWEST_BATCHES, [job, version, generation]).fetchall()
        return {row["batch_id"]: _planned(row) for row in rows}

    def checkpoint_is_free(self, job: str, version: int) -> bool:
        """Whether no finite Spark work holds the version's checkpoints: its lock, which is an exclusive one, is
        shared for a moment, so that two who look do not see each other."""
        with self.database.transaction() as connection:
            return _told(connection, _IS_FREE, [f"kappa:checkpoint:{job}:{version}"])


def _known(connection: Connection, change: Change) -> Change | None:
    """This change as it was written before, or the run's open one. Raises Unsettled for another run's open one."""
    written = _find(connection, _CHANGE + "where change_id = %s", [change.change_id])
    found = written or _open(connection, change.job, change.version)
    if found and found.run_id != change.run_id:
        raise Unsettled(found)
    return found


def _advance(connection: Connection, change_id: UUID, before: Collection[Phase], phase: Phase) -> Change | None:
    """Move a change on and mark the moment, if it is in one of the phases `before`; the change as it was."""
    change = _one(connection, change_id, " for update")
    if change.phase not in before:
        return None
    connection.execute(_ADVANCE, {"change_id": change_id, "phase": phase, "ends": phase in ENDED})
    _mark(connection, change_id, phase)
    return change


def _mark(connection: Connection, change_id: UUID, mark: Mark | Phase) -> None:
    if not connection.execute(_MARK, {"change_id": change_id, "mark": mark}).rowcount:
        raise LookupError(f"no change {change_id}")


def _run_as(connection: Connection, change: Change, runs_as: RunsAs) -> None:
    held = {**runs_as.to_json(), "settings": Jsonb(dict(runs_as.settings))}
    connection.execute(_RUN_AS, {**_key(change), **held})


def _desire(connection: Connection, change: Change, desired: Desired) -> None:
    connection.execute(_DESIRE, {**_key(change), "desired": desired})


def _one(connection: Connection, change_id: UUID, lock: str = "") -> Change:
    change = _find(connection, f"{_CHANGE}where change_id = %s{lock}", [change_id])
    if change is None:
        raise LookupError(f"no change {change_id}")
    return change


def _open(connection: Connection, job: str, version: int) -> Change | None:
    return _find(connection, _OPEN, [job, version])


def _find(connection: Connection, statement: str, values: list[Any]) -> Change | None:
    row = connection.execute(statement, values).fetchone()
    return Change.from_json(row) if row else None


def _planned(row: DictRow) -> Planned:
    return Planned({int(p): int(offset) for p, offset in row["end_offsets"].items()}, row["watermark_ms"])


def _told(connection: Connection, statement: str, values: list[Any]) -> bool:
    row = connection.execute(statement, values).fetchone()
    return bool(row and row["told"])


def _key(change: Change) -> dict[str, Any]:
    return {"job": change.job, "version": change.version}


def _row(change: Change) -> dict[str, Any]:
    return {**vars(change), "old": Jsonb(change.old.to_json()), "new": Jsonb(change.new.to_json())}
