"""How a version comes into being in Postgres: its row, fence, progress and rows' partition, within a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg.types.json import Jsonb

from kappa.core.audit import Author, Entry
from kappa.core.versions import Version
from kappa.registry.port import StagedByAnother
from kappa.registry.transactions import Connection, audit

DEPLOYED, REPLAYED = "deploy.staged", "replay.staged"
STAGED = (DEPLOYED, REPLAYED)
"""What the audit says of a version's making."""
_INSERT_VERSION = """
insert into registry.job_version (job, version, state, desired, artifact, state_digest, result_digest,
    settings, topic, topic_id, starts_at, start_offsets)
values (%(job)s, %(version)s, %(state)s, %(desired)s, %(artifact)s, %(state_digest)s, %(result_digest)s,
    %(settings)s, %(topic)s, %(topic_id)s, %(starts_at)s, %(start_offsets)s)
on conflict do nothing"""
_INSERT_PROGRESS = """
insert into registry.progress (job, version, "partition", next_offset, first_append_time)
values (%(job)s, %(version)s, %(partition)s, %(offset)s, to_timestamp(%(appended)s / 1000.0))"""


def insert_version(connection: Connection, version: Version, by: Author, action: str, told: Mapping[str, Any]) -> bool:
    """Make the version, unless it exists; whether it was made. The caller has the turn on the job."""
    key = {"job": version.job, "version": version.version}
    if not connection.execute(_INSERT_VERSION, _row(version)).rowcount:
        return False
    connection.execute("insert into registry.fence (job, version) values (%(job)s, %(version)s)", key)
    for partition, offset in version.start_offsets.items():
        appended = version.first_appended.get(partition)
        connection.execute(_INSERT_PROGRESS, {**key, "partition": partition, "offset": offset, "appended": appended})
    connection.execute("select registry.add_rows_partition(%(job)s, %(version)s)", key)
    audit(connection, Entry(by, action, version.job, version.version, told))
    return True


def staged_by_another(connection: Connection, version: Version) -> StagedByAnother:
    """The refusal that names the run which made the version."""
    return StagedByAnother(version.job, version.version, stager(connection, version) or "(unknown)")


def stager(connection: Connection, version: Version) -> str | None:
    """The run that made the version, if the audit knows."""
    row = connection.execute(
        "select run_id from registry.audit where job = %s and version = %s and action = any(%s) "
        "order by audit_id limit 1",
        [version.job, version.version, list(STAGED)],
    ).fetchone()
    return row["run_id"] if row else None


def _row(version: Version) -> dict[str, Any]:
    held = {name: Jsonb(dict(getattr(version, name))) for name in ("settings", "start_offsets")}
    return {**vars(version), **held}
