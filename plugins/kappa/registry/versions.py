"""The versions in Postgres: their states, the segments that they serve, what is wrong with them, and the audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from kappa.core.audit import Author, Entry
from kappa.core.versions import BEGINNING, OPEN_END, SELECT_VERSION, Desired, Heartbeat, Segment, State, Version
from kappa.registry import staging
from kappa.registry.port import Check, ServedByAnother, UnknownVersion, passes
from kappa.registry.transactions import Connection, Database, audit, take_turn, take_turn_on_all_jobs

INSERT_SEGMENT = """
insert into registry.segment
values (%(job)s, %(from_window)s::timestamptz, %(to_window)s::timestamptz, %(version)s)"""
_FIRST_RELEASE = """
insert into registry.release (jobs, segments_before, segments_after, offsets_before, offsets_after,
    promoted_by, evidence)
select array[%(job)s], '[]', %(after)s, '{}',
    jsonb_build_object(%(job)s::text, jsonb_object_agg("partition", next_offset)), %(actor)s, %(evidence)s
from registry.progress where job = %(job)s and version = %(version)s"""
_STATE = "select state from registry.job_version where job = %s and version = %s"
_REVIVE = """
update registry.job_version v set state = 'LIVE', updated_at = clock_timestamp()
where v.job = %(job)s and v.version = %(version)s and v.state = 'FAILED'
    and exists (select from registry.segment s where (s.job, s.version) = (v.job, v.version)
        and s.to_window = 'infinity')"""
_REVIVE_PREVIOUS = """
update registry.job_version v set state = 'PREVIOUS', updated_at = clock_timestamp()
where v.job = %(job)s and v.version = %(version)s and v.state = 'FAILED'
    and not exists (select from registry.segment s where (s.job, s.version) = (v.job, v.version)
        and s.to_window = 'infinity')
    and exists (select from registry.release r where r.segments_before
        @> jsonb_build_array(jsonb_build_object('job', v.job, 'version', v.version, 'to_window', 'infinity')))"""
SET_STATE = """
update registry.job_version set state = %(new)s, updated_at = clock_timestamp()
where job = %(job)s and version = %(version)s and state = any(%(old)s)"""
TURN_SECONDS = 25
"""For the turn on all jobs: longer than a hand-over may hold it."""


@dataclass(frozen=True)
class PostgresVersions:
    """The part of the Registry that says what exists."""

    database: Database

    def versions(self, job: str) -> list[Version]:
        """All versions of a job, in order."""
        with self.database.transaction() as connection:
            rows = connection.execute(f"{SELECT_VERSION} where job = %s order by version", [job])
            return [Version.from_json(row) for row in rows]

    def segments(self, job: str) -> list[Segment]:
        """The segments of a job, in order."""
        with self.database.transaction() as connection:
            return _segments(connection, job)

    def stage(self, version: Version, by: Author, evidence: Mapping[str, Any], check: Check = passes) -> None:
        """Make the version, its fence, progress and rows' partition, once `check` has passed. Raises StagedByAnother,
        what `check` raises."""
        with self.database.transaction() as connection:
            connection.execute("select set_config('lock_timeout', %s, true)", [f"{TURN_SECONDS}s"])
            take_turn_on_all_jobs(connection)
            check()
            take_turn(connection, version.job)
            made = staging.insert_version(connection, version, by, staging.DEPLOYED, evidence)
            if not made and staging.stager(connection, version) != by.run_id:
                raise staging.staged_by_another(connection, version)

    def desire(self, job: str, version: int, desired: Desired) -> None:
        """Set the desired state."""
        with self.database.transaction() as connection:
            connection.execute(
                "update registry.job_version set desired = %s, updated_at = clock_timestamp() "
                "where job = %s and version = %s and desired <> %s",
                [desired, job, version, desired],
            )

    def set_state(self, job: str, version: int, old: State, new: State) -> None:
        """Move the version from one state to the next, if it is still in the first."""
        with self.database.transaction() as connection:
            connection.execute(SET_STATE, {"job": job, "version": version, "old": [old], "new": new})

    def revive(self, job: str, version: int) -> State:
        """Let a FAILED version that serves the live end be LIVE; its state then. Raises UnknownVersion."""
        with self.database.transaction() as connection:
            take_turn(connection, job)
            revive(connection, job, version)
            return _state(connection, job, version)

    def revive_previous(self, job: str, version: int) -> State:
        """Let a FAILED version that served the live end before be PREVIOUS; its state then. Raises UnknownVersion."""
        with self.database.transaction() as connection:
            take_turn(connection, job)
            connection.execute(_REVIVE_PREVIOUS, {"job": job, "version": version})
            return _state(connection, job, version)

    def heartbeat(self, job: str, version: int) -> Heartbeat | None:
        """The latest heartbeat, if there ever was one."""
        with self.database.transaction() as connection:
            row = connection.execute(
                "select epoch, submission_id, beat_at, committed_at, "
                "extract(epoch from clock_timestamp() - beat_at)::double precision as age_seconds "
                "from registry.heartbeat where job = %s and version = %s",
                [job, version],
            ).fetchone()
            return Heartbeat(**row) if row else None

    def red_lines(self, job: str, version: int) -> list[str]:
        """What is wrong with a version, in words."""
        with self.database.transaction() as connection:
            rows = connection.execute(
                "select what || ': ' || detail as line from registry.red_line where job = %s and "
                "version = %s order by since",
                [job, version],
            )
            return [row["line"] for row in rows]

    def clear_red_lines(self, job: str, version: int) -> None:
        """Forget what was wrong, before a new try."""
        with self.database.transaction() as connection:
            connection.execute("delete from registry.red_line where job = %s and version = %s", [job, version])

    def go_live(self, job: str, version: int, by: Author) -> bool:
        """First deployment: all windows to this version, a release, state LIVE. Whether anything changed.

        Raises ServedByAnother.
        """
        with self.database.transaction() as connection:
            take_turn(connection, job)
            before = _segments(connection, job)
            if before and before[-1].version != version:
                raise ServedByAnother(job, version, before[-1].version)
            if not before:
                _open_all(connection, Segment(job, BEGINNING, OPEN_END, version), by)
            old = [State.STAGED, State.FAILED]
            key = {"job": job, "version": version, "old": old, "new": State.LIVE}
            return bool(connection.execute(SET_STATE, key).rowcount) or not before

    def record(self, entry: Entry) -> None:
        """Add a row to the audit."""
        with self.database.transaction() as connection:
            audit(connection, entry)

    def entries(self, run_id: str) -> Sequence[Entry]:
        """The audit of one run, in order."""
        with self.database.transaction() as connection:
            rows = connection.execute("select * from registry.audit where run_id = %s order by audit_id", [run_id])
            return [_entry(row) for row in rows]


def revive(connection: Connection, job: str, version: int) -> bool:
    """Let a FAILED version that serves the live end be LIVE; whether it was one. The caller has the turn on the job: a
    hand-over that commits meanwhile would not be seen."""
    return bool(connection.execute(_REVIVE, {"job": job, "version": version}).rowcount)


def _state(connection: Connection, job: str, version: int) -> State:
    row = connection.execute(_STATE, [job, version]).fetchone()
    if row is None:
        raise UnknownVersion(job, version)
    return State(row["state"])


def _segments(connection: Connection, job: str) -> list[Segment]:
    rows = connection.execute(
        "select job, from_window::text, to_window::text, version from registry.segment s where job = %s "
        "order by s.from_window",
        [job],
    )
    return [Segment(**row) for row in rows]


def _open_all(connection: Connection, segment: Segment, by: Author) -> None:
    """Give all windows of a job that serves nothing yet to one version, and say so in a release."""
    evidence = {"run_id": by.run_id, "reason": by.reason, "first_deployment": True}
    values = {
        **segment.to_json(),
        "after": Jsonb([segment.to_json()]),
        "actor": by.actor,
        "evidence": Jsonb(evidence),
    }
    connection.execute(INSERT_SEGMENT, values)
    connection.execute(_FIRST_RELEASE, values)


def _entry(row: DictRow) -> Entry:
    author = Author(row["actor"], row["run_id"], row["reason"])
    return Entry(author, row["action"], row["job"], row["version"], row["evidence"])
