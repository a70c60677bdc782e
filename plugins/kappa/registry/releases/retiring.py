"""Retirement in Postgres: a version gives back its rows without a reader waiting, unless it is pinned; its accounting
stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg import errors, sql
from psycopg.rows import dict_row

from kappa.core.audit import Author, Entry
from kappa.core.replays import Freed
from kappa.core.versions import Segment, State, check_transition
from kappa.registry.port import UnknownVersion
from kappa.registry.releases_port import AlreadyRetired, Pinned, RowsInUse, StillServes
from kappa.registry.transactions import (
    CONNECT_TIMEOUT_SECONDS,
    Connection,
    Database,
    address,
    audit,
    take_turn,
)
from kappa.unavailable import Unreachable

LOCK_SECONDS = 5.0
_VERSION = "select state from registry.job_version where job = %(job)s and version = %(version)s for update"
_SERVES = """
select job, from_window::text, to_window::text, version from registry.segment s
where job = %(job)s and version = %(version)s order by s.from_window desc limit 1"""
_PIN = "select pinned_by from registry.pin where job = %(job)s and version = %(version)s"
_RETIRE = """
update registry.job_version set state = 'RETIRED', desired = 'stopped', updated_at = clock_timestamp()
where job = %(job)s and version = %(version)s"""
# A driver that is still there must not find its rows gone: it is shut out first, and ends as one that was replaced.
_SHUT_OUT = "update registry.fence set epoch = epoch + 1 where job = %(job)s and version = %(version)s"
_FORGET_RED = "delete from registry.red_line where job = %(job)s and version = %(version)s"
_CHILD = """
select o.table_name as parent, o.table_name || '_v' || %(version)s::integer as child,
    pg_total_relation_size(to_regclass(format('data.%%I', o.table_name || '_v' || %(version)s::integer))) as bytes
from registry.output o where o.job = %(job)s"""
_ATTACHED = """
select c.relname as child, i.inhdetachpending as pending from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = to_regclass(format('data.%%I', %(parent)s::text))"""
_UNFREED = """
select v.job, v.version from registry.job_version v join registry.output o using (job)
where v.state = 'RETIRED' and to_regclass(format('data.%I', o.table_name || '_v' || v.version)) is not null"""
# Tried, not waited for: who waits here has a snapshot, and a detachment waits for snapshots.
_ALONE = "select pg_try_advisory_lock(hashtextextended('kappa:retire:' || %(parent)s::text, 0)) as alone"
_SET_PIN = """
insert into registry.pin (job, version, pinned_by, run_id, reason) values (%s, %s, %s, %s, %s) on conflict do nothing"""


@dataclass(frozen=True)
class PostgresPins:
    """The part of Releases that keeps versions from being retired."""

    database: Database

    def pin(self, job: str, version: int, by: Author) -> None:
        """Keep a version from being retired. Raises UnknownVersion, AlreadyRetired."""
        with self.database.transaction() as connection:
            take_turn(connection, job)
            row = connection.execute(
                "select state from registry.job_version where job = %s and version = %s", [job, version]
            ).fetchone()
            if row is None:
                raise UnknownVersion(job, version)
            if row["state"] == State.RETIRED:
                raise AlreadyRetired(job, version)
            if connection.execute(_SET_PIN, [job, version, by.actor, by.run_id, by.reason]).rowcount:
                audit(connection, Entry(by, "pin.set", job, version))

    def unpin(self, job: str, version: int, by: Author) -> None:
        """Take the pin away, if there is one."""
        with self.database.transaction() as connection:
            gone = connection.execute("delete from registry.pin where job = %s and version = %s", [job, version])
            if gone.rowcount:
                audit(connection, Entry(by, "pin.removed", job, version))

    def pins(self) -> set[tuple[str, int]]:
        """The pinned versions, as (job, version)."""
        with self.database.transaction() as connection:
            rows = connection.execute("select job, version from registry.pin")
            return {(row["job"], row["version"]) for row in rows}


@dataclass(frozen=True)
class Owner:
    """The owner of the tables: a connection per call. A statement waits `lock_seconds` for a lock."""

    dsn: str
    lock_seconds: float = LOCK_SECONDS

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection as the tables' owner that commits each statement. Raises Unreachable."""
        try:
            with psycopg.connect(
                self.dsn,
                row_factory=dict_row,
                connect_timeout=CONNECT_TIMEOUT_SECONDS,
                application_name="kappa:control",
                options=f"-c lock_timeout={round(self.lock_seconds * 1000)}ms",
                autocommit=True,
            ) as connection:
                yield connection
        except psycopg.OperationalError as error:
            raise Unreachable("Postgres", address(self.dsn), error) from error


@dataclass(frozen=True)
class PostgresRetiring:
    """The part of Releases that gives space back; tables are dropped as their owner."""

    database: Database
    owner: Owner

    def retire(self, job: str, version: int, by: Author) -> Freed:
        """State RETIRED, then the rows go without a reader waiting; what was freed.

        Raises UnknownVersion, StillServes, Pinned, IllegalTransition: nothing was changed then; RowsInUse: to be
        called again.
        """
        with self.database.transaction() as connection:
            _set_retired(connection, job, version, by)
        gone = self._drop_rows(job, version)
        if gone is not None:
            with self.database.transaction() as connection:
                audit(connection, Entry(by, "retire.freed", job, version, {"rows_bytes": gone}))
        return Freed(job, version, gone or 0)

    def unfreed(self) -> set[tuple[str, int]]:
        """Versions that are RETIRED and still have their rows, as (job, version): their retirement was cut short."""
        with self.database.transaction() as connection:
            return {(row["job"], row["version"]) for row in connection.execute(_UNFREED)}

    def _drop_rows(self, job: str, version: int) -> int | None:
        """Drop the version's rows; their bytes, None where there were none. Raises RowsInUse."""
        with self.owner.connection() as owner:
            found = owner.execute(_CHILD, {"job": job, "version": version}).fetchone()
            if found is None or found["bytes"] is None:
                return None
            if not _is_alone(owner, found["parent"]):
                raise RowsInUse(job, version, self.owner.lock_seconds)
            try:
                _detach(owner, found["parent"], found["child"])
                owner.execute(sql.SQL("drop table data.{}").format(sql.Identifier(found["child"])))
            except errors.LockNotAvailable as error:
                raise RowsInUse(job, version, self.owner.lock_seconds) from error
            return int(found["bytes"])


def _set_retired(connection: Connection, job: str, version: int, by: Author) -> None:
    """State RETIRED, its driver shut out, unless it is so already."""
    key = {"job": job, "version": version}
    take_turn(connection, job)
    row = connection.execute(_VERSION, key).fetchone()
    if row is None:
        raise UnknownVersion(job, version)
    if row["state"] == State.RETIRED:
        return
    if segment := connection.execute(_SERVES, key).fetchone():
        raise StillServes(Segment(**segment))
    if pin := connection.execute(_PIN, key).fetchone():
        raise Pinned(job, version, pin["pinned_by"])
    check_transition(job, version, State(row["state"]), State.RETIRED)
    for statement in (_RETIRE, _SHUT_OUT, _FORGET_RED):
        connection.execute(statement, key)
    audit(connection, Entry(by, "retire.done", job, version, {"was": row["state"]}))


def _is_alone(owner: Connection, parent: str) -> bool:
    """Whether no other retirement is at work on the table; none begins while this connection lives."""
    row = owner.execute(_ALONE, {"parent": parent}).fetchone()
    return bool(row and row["alone"])


def _detach(owner: Connection, parent: str, child: str) -> None:
    """Take the rows out of their table; a detachment that was cut short is finished first: it would refuse another."""
    rows = owner.execute(_ATTACHED, {"parent": parent}).fetchall()
    attached = {row["child"]: row["pending"] for row in rows}
    for name, pending in attached.items():
        if pending:
            _alter(owner, "alter table data.{} detach partition data.{} finalize", parent, name)
    if attached.get(child) is False:
        _alter(owner, "alter table data.{} detach partition data.{} concurrently", parent, child)


def _alter(owner: Connection, statement: str, parent: str, child: str) -> None:
    owner.execute(sql.SQL(statement).format(sql.Identifier(parent), sql.Identifier(child)))
