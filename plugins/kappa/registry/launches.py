"""What is started on the cluster, in Postgres: intent before the submission, claim by the driver or outcome, end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from kappa.core.changes import Attempt
from kappa.core.versions import Launch
from kappa.registry.port import UnknownVersion
from kappa.registry.transactions import Connection, Database

_LAUNCH = (
    "select launch_id, job, version, intended_at, submission_id, claimed_by, ended_at is not null as ended, standby, "
    "standby_warm_at from registry.launch"
)
_SUBMISSIONS = """
select s.submission, l.job, l.version
from registry.launch l cross join lateral (values (l.submission_id), (l.claimed_by), (l.standby)) s (submission)
where s.submission is not null"""

_BEGIN_ATTEMPT = """
insert into registry.finite_program (change_id, program, attempt_id) values (%s, %s, %s)
on conflict (change_id, program) do update set attempt_id = excluded.attempt_id, begun_at = excluded.begun_at,
    submission_id = null, outcome = null, ended_at = null where finite_program.attempt_id <> excluded.attempt_id"""


@dataclass(frozen=True)
class PostgresLaunches:
    """The part of the Registry that starts and ends drivers, and finite programs."""

    database: Database

    def open_launch(self, job: str, version: int) -> Launch | None:
        """The launch that has not ended, if any."""
        with self.database.transaction() as connection:
            return _open(connection, job, version)

    def launch(self, launch_id: UUID) -> Launch:
        """A launch as it is now."""
        with self.database.transaction() as connection:
            row = connection.execute(f"{_LAUNCH} where launch_id = %s", [launch_id]).fetchone()
            if row is None:
                raise LookupError(f"no launch {launch_id}")
            return Launch(**row)

    def intend_launch(self, job: str, version: int, launch_id: UUID) -> Launch:
        """Write the intent to start a driver; the open launch, which is another one where one was open
        already."""
        with self.database.transaction() as connection:
            connection.execute(
                "insert into registry.launch (launch_id, job, version) values (%s, %s, %s) on conflict do nothing",
                [launch_id, job, version],
            )
            found = _open(connection, job, version)
            if found is None:
                raise UnknownVersion(job, version)
            return found

    def record_submission(self, launch_id: UUID, submission_id: str) -> None:
        """Remember what the cluster called the submission of a launch."""
        with self.database.transaction() as connection:
            connection.execute(
                "update registry.launch set submission_id = %s where launch_id = %s",
                [submission_id, launch_id],
            )

    def record_standby(self, launch_id: UUID, submission_id: str) -> None:
        """Remember what the cluster called the driver that is to stand by for the one of a launch."""
        with self.database.transaction() as connection:
            connection.execute(
                "update registry.launch set standby = %s, standby_warm_at = null where launch_id = %s",
                [submission_id, launch_id],
            )

    def begin_attempt(self, change_id: UUID, program: str, attempt_id: UUID) -> None:
        """Write the intent to run a finite program of a change; the attempt before it can leave no outcome any more."""
        with self.database.transaction() as connection:
            connection.execute(_BEGIN_ATTEMPT, [change_id, program, attempt_id])

    def record_attempt(self, attempt_id: UUID, submission_id: str) -> None:
        """Remember what the cluster called the submission of an attempt."""
        with self.database.transaction() as connection:
            connection.execute(
                "update registry.finite_program set submission_id = %s where attempt_id = %s",
                [submission_id, attempt_id],
            )

    def attempt(self, change_id: UUID, program: str) -> Attempt | None:
        """The newest attempt at a finite program of a change."""
        with self.database.transaction() as connection:
            row = connection.execute(
                "select attempt_id, submission_id, outcome from registry.finite_program "
                "where change_id = %s and program = %s",
                [change_id, program],
            ).fetchone()
            return Attempt.from_json(row) if row else None

    def end_launch(self, launch_id: UUID) -> None:
        """Close a launch whose driver is gone, and shut out whatever is left of it: its take-over may be under way."""
        with self.database.transaction() as connection:
            connection.execute(
                "with over as (update registry.launch set ended_at = clock_timestamp() "
                "where launch_id = %s and ended_at is null returning job, version) "
                "update registry.fence f set epoch = epoch + 1 from over "
                "where (f.job, f.version) = (over.job, over.version)",
                [launch_id],
            )

    def submissions(self) -> Mapping[str, tuple[str, int]]:
        """The version, as (job, version), of each submission that a launch was given to or that claimed one."""
        with self.database.transaction() as connection:
            return {row["submission"]: (row["job"], row["version"]) for row in connection.execute(_SUBMISSIONS)}

    def raise_epoch(self, job: str, version: int) -> int:
        """Shut out every driver that is running: none that started before may write again. The new epoch."""
        with self.database.transaction() as connection:
            row = connection.execute(
                "update registry.fence set epoch = epoch + 1 where job = %s and version = %s returning epoch",
                [job, version],
            ).fetchone()
            if row is None:
                raise UnknownVersion(job, version)
            return int(row["epoch"])

    def drained_since(self, job: str, version: int, since: datetime) -> bool:
        """Whether every partition was seen to hold nothing unread at some time after `since`."""
        with self.database.transaction() as connection:
            row = connection.execute(
                "select coalesce(bool_and(drained_at > %s and next_offset >= end_offset), false) as drained "
                "from registry.progress where job = %s and version = %s",
                [since, job, version],
            ).fetchone()
            return bool(row and row["drained"])


def _open(connection: Connection, job: str, version: int) -> Launch | None:
    row = connection.execute(
        f"{_LAUNCH} where job = %s and version = %s and ended_at is null", [job, version]
    ).fetchone()
    return Launch(**row) if row else None
