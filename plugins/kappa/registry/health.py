"""How versions do, from what Postgres knows of them, and the end of one that cannot be helped."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from kappa.core.versions import Health
from kappa.registry.port import UnknownVersion
from kappa.registry.transactions import Database

_HEALTH = """
select extract(epoch from clock_timestamp() - h.beat_at)::double precision as beat_seconds,
    extract(epoch from clock_timestamp() - h.committed_at)::double precision as commit_seconds,
    c.lag_events, c.lag_seconds, h.batch_ms, h.state_rows,
    array(select r.what || ': ' || r.detail from ops.red_lines r where (r.job, r.version) = (c.job, c.version)
        order by r.since, r.what) as red,
    array(select a.at from registry.audit a where (a.job, a.version) = (c.job, c.version)
        and a.action = 'repair.restarted' and a.at > clock_timestamp() - interval '1 hour' order by a.at) as repairs,
    l.log_away_at, l.log_back_at
from registry.completeness c left join registry.heartbeat h using (job, version)
cross join lateral (
    select away.at as log_away_at, (select min(back.at) from registry.audit back
        where (back.job, back.version) = (c.job, c.version) and back.action = 'repair.log_back' and back.at > away.at
        ) as log_back_at
    from (select max(a.at) as at from registry.audit a
        where (a.job, a.version) = (c.job, c.version) and a.action = 'repair.log_away') away) l
where c.job = %s and c.version = %s"""
_FAIL = """
update registry.job_version set state = 'FAILED', updated_at = clock_timestamp()
where job = %s and version = %s and state <> 'FAILED'"""
_SAY_WHY = """
insert into registry.red_line (job, version, what, detail)
select job, version, 'failed', %s from registry.job_version where job = %s and version = %s
on conflict (job, version, what) do update set detail = excluded.detail"""


@dataclass(frozen=True)
class PostgresHealth:
    """The part of the Registry that repairs rest on."""

    database: Database

    def health(self, job: str, version: int) -> Health:
        """How a version does. What repairs did and found are rows of the audit. Raises UnknownVersion."""
        with self.database.transaction() as connection:
            row = connection.execute(_HEALTH, [job, version]).fetchone()
            if row is None:
                raise UnknownVersion(job, version)
            return Health(**{**row, "red": tuple(row["red"]), "repairs": tuple(row["repairs"])})

    def now(self) -> datetime:
        """The database's time."""
        with self.database.transaction() as connection:
            (row,) = connection.execute("select clock_timestamp() as now").fetchall()
            now: datetime = row["now"]
            return now.astimezone(UTC)

    def give_up(self, job: str, version: int, why: str) -> None:
        """State FAILED and a red line `failed` that says why. Raises UnknownVersion."""
        with self.database.transaction() as connection:
            connection.execute(_FAIL, [job, version])
            if not connection.execute(_SAY_WHY, [why, job, version]).rowcount:
                raise UnknownVersion(job, version)
