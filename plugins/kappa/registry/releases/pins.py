"""The pins in Postgres: versions that are never retired."""

from __future__ import annotations

from dataclasses import dataclass

from kappa.core.audit import Author, Entry
from kappa.core.versions import State
from kappa.registry.port import UnknownVersion
from kappa.registry.releases_port import AlreadyRetired
from kappa.registry.transactions import Database, audit, take_turn

_PIN = """
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
            if connection.execute(_PIN, [job, version, by.actor, by.run_id, by.reason]).rowcount:
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
