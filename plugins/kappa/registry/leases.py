"""The leases in Postgres: which run may act on a version, and until when by the database's clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psycopg.rows import DictRow

from kappa.core.audit import Author, Entry
from kappa.core.versions import Lease
from kappa.registry.port import UnderWay
from kappa.registry.transactions import Connection, Database, audit, take_turn

TAKEN_OVER = "lease.taken_over"
_HELD = (
    "select *, ends_at > clock_timestamp() as holds from registry.lease where job = %(job)s and version = %(version)s"
)
_RENEW = """
update registry.lease set ends_at = clock_timestamp() + make_interval(secs => %(seconds)s::double precision)
where job = %(job)s and version = %(version)s
returning *"""
_TAKE = """
insert into registry.lease (job, version, run_id, verb, actor, reason, ends_at)
values (%(job)s, %(version)s, %(run_id)s, %(verb)s, %(actor)s, %(reason)s,
    clock_timestamp() + make_interval(secs => %(seconds)s::double precision))
on conflict (job, version) do update set run_id = excluded.run_id, verb = excluded.verb, actor = excluded.actor,
    reason = excluded.reason, taken_at = excluded.taken_at, ends_at = excluded.ends_at
returning *"""


@dataclass(frozen=True)
class PostgresLeases:
    """The part of the Registry that says who may act."""

    database: Database

    def lease(self, job: str, version: int) -> Lease | None:
        """Who holds the version; None when nobody does or the lease's time is over."""
        with self.database.transaction() as connection:
            row = connection.execute(_HELD, {"job": job, "version": version}).fetchone()
            return _lease(row) if row and row["holds"] else None

    def take_lease(
        self, verb: str, job: str, version: int, by: Author, seconds: float, over: str | None = None
    ) -> Lease:
        """Hold the version for one run of a verb; the same run asking again gets its lease, with a new end.

        `over` names a run that is known to have ended: its lease is taken over, as is one whose time is over, and
        the audit says so. Raises UnderWay.
        """
        key = {**vars(by), "verb": verb, "job": job, "version": version, "seconds": seconds}
        with self.database.transaction() as connection:
            take_turn(connection, job)
            held = connection.execute(_HELD, key).fetchone()
            if held and held["run_id"] == by.run_id:
                return _written(connection, _RENEW, key)
            if held and held["holds"] and held["run_id"] != over:
                raise UnderWay(_lease(held))
            if held:
                audit(connection, Entry(by, TAKEN_OVER, job, version, {"from": predecessor(_lease(held))}))
            audit(connection, Entry(by, f"{verb}.begun", job, version, {"lease_seconds": seconds}))
            return _written(connection, _TAKE, key)

    def release_leases(self, by: Author) -> None:
        """Give back every lease of the run."""
        with self.database.transaction() as connection:
            connection.execute("delete from registry.lease where run_id = %s", [by.run_id])


def predecessor(lease: Lease) -> Mapping[str, Any]:
    """Whose lease it was, for the audit."""
    told = {name: getattr(lease, name) for name in ("run_id", "verb", "actor")}
    return {**told, "ends_at": lease.ends_at.isoformat()}


def _written(connection: Connection, statement: str, key: Mapping[str, Any]) -> Lease:
    (row,) = connection.execute(statement, key).fetchall()
    return _lease(row)


def _lease(row: DictRow) -> Lease:
    return Lease(**{name: row[name] for name in Lease.__dataclass_fields__})
