"""Who owns a version: the launch that a submission claimed, and the epoch that its driver raised."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from kappa.core.refusals import Refusal

Connection = psycopg.Connection[tuple[Any, ...]]
Key = Mapping[str, Any]

_OWNED = """(%(epoch)s::bigint is null or exists (select from registry.fence f
    where f.job = %(job)s and f.version = %(version)s and f.epoch = %(epoch)s))"""
"""Before its take-over a process has no epoch: it is the launch that it holds which says that it may act."""
_RAISE_RED = f"""
insert into registry.red_line (job, version, what, detail)
select %(job)s, %(version)s, %(what)s, %(detail)s where {_OWNED}
on conflict (job, version, what) do update set detail = excluded.detail"""
_CLEAR_RED = f"""
delete from registry.red_line where job = %(job)s and version = %(version)s and what = any(%(what)s) and {_OWNED}"""  # noqa: S608 - no value is in it
_FAIL = f"""
update registry.job_version set state = 'FAILED', updated_at = clock_timestamp()
where job = %(job)s and version = %(version)s and {_OWNED}"""  # noqa: S608 - no value is in it

GONE_SECONDS = 1.0
"""A driver whose connections were all cut makes new ones at its next beat, which is sooner."""
LONG_GONE_SECONDS = 5.0
"""So long a driver has time that this process never saw: Postgres may have come back a moment ago, for both."""
_IS_THERE = """exists (select from pg_stat_activity a where a.usename = session_user
    and a.application_name ~ format('^kappa:%%s:v%%s:e[0-9]+$', l.job, l.version))"""
_HAS_BEATEN = """exists (select from registry.heartbeat h
    where h.job = l.job and h.version = l.version and h.submission_id = l.claimed_by)"""
_HELD = f"""
select l.ended_at is not null, {_IS_THERE}, {_HAS_BEATEN} from registry.launch l where l.launch_id = %(launch)s"""  # noqa: S608 - no value is in it
_REPLACES = f"""
update registry.launch l set claimed_by = %(submission)s, claimed_at = clock_timestamp(), standby = null,
    standby_warm_at = null
where l.launch_id = %(launch)s and l.ended_at is null and not {_IS_THERE}"""  # noqa: S608 - no value is in it
_LAG = """
select c.lag_seconds from registry.launch l join registry.completeness c using (job, version)
where l.launch_id = %(launch)s"""
_STANDS_BY = """
update registry.launch set standby = %(submission)s, standby_warm_at = case when %(warm)s then clock_timestamp() end
where launch_id = %(launch)s and ended_at is null"""


class Orphaned(Exception):  # noqa: N818 - an end, not an error
    """The process that started this driver is gone."""


@dataclass(frozen=True)
class Identity:
    """Who this driver is: its submission, its epoch, and the process that it must not outlive."""

    submission_id: str
    epoch: int
    parent_pid: int

    def check_parent(self) -> None:
        """A driver whose JVM was killed goes at once; what it would write is fenced anyway. Raises Orphaned."""
        if os.getppid() != self.parent_pid:
            raise Orphaned


class LaunchLost(Exception):  # noqa: N818 - an end, not an error
    """The launch has ended, or another submission's driver claimed it, or took the version over: nothing is touched."""

    def __init__(self, launch_id: str, submission_id: str) -> None:
        super().__init__(f"launch {launch_id} is not, or no longer, that of {submission_id}; nothing was touched")


class Failover:
    """What a driver that is to replace another one asks and tells of the launch that this one holds; `connect` makes
    its connection, anew after Postgres went away.

    A driver that is killed is gone from Postgres at once, with all its connections; one whose host is lost only later:
    that is what `DriverRegistry.claim` is for.
    """

    def __init__(self, connect: Callable[[], Connection], launch_id: str, submission_id: str) -> None:
        self._connect, self._of = connect, {"launch": launch_id, "submission": submission_id}
        self._open: Connection | None = None
        self._was_there = False
        self._gone_since: float | None = None

    def tell(self, warm: bool) -> None:
        """Say that this driver stands by, and whether it is warm."""
        self._ask(_STANDS_BY, warm=warm)

    def look(self) -> bool | None:
        """True: the driver was there, has been gone for GONE_SECONDS, or it once beat, was never seen and has been gone
        for LONG_GONE_SECONDS; the launch is this one's now. False: the launch has ended. None: neither."""
        (ended, there, has_beaten), *_ = self._ask(_HELD).fetchall() or [(True, False, False)]
        if ended or there:
            self._was_there, self._gone_since = self._was_there or there, None
            return False if ended else None
        self._gone_since = self._gone_since or time.monotonic()
        gone = time.monotonic() - self._gone_since
        if (self._was_there and gone >= GONE_SECONDS) or (has_beaten and gone >= LONG_GONE_SECONDS):
            return True if self._ask(_REPLACES).rowcount else None
        return None

    def lag_seconds(self) -> float:
        """For how long the oldest unread record of the launch's version has waited, at most."""
        ((seconds,),) = self._ask(_LAG).fetchall()
        return float(seconds)

    def close(self) -> None:
        """Close the connection: the next answer is by a new one, and of a driver that was not seen there yet."""
        if self._open is not None:
            self._open.close()
        self._open, self._was_there, self._gone_since = None, False, None

    def _ask(self, statement: str, **more: Any) -> psycopg.Cursor[tuple[Any, ...]]:
        if self._open is None:
            self._open = self._connect()
            self._open.autocommit = True
        return self._open.execute(statement, {**self._of, **more})


class Driven(Refusal):
    """A launch of the version is open: its driver would be robbed of what it is at work on."""

    def __init__(self, job: str, version: int) -> None:
        super().__init__(
            f"{job} v{version} has an open launch, so a driver may be at work on its checkpoint. Nothing was touched. "
            f"Stop it with './kappa stop {job}', then try again."
        )


def hold_launch(connection: Connection, launch_id: str, submission_id: str) -> None:
    """Keep the launch as it is until the transaction ends: open, and this submission's. Raises LaunchLost."""
    held = connection.execute(
        "select 1 from registry.launch where launch_id = %s and claimed_by = %s and ended_at is null for update",
        (launch_id, submission_id),
    ).fetchone()
    if not held:
        raise LaunchLost(launch_id, submission_id)


def end_launch(connection: Connection, launch_id: str, submission_id: str) -> None:
    """Say that this launch's driver goes for good; the launch of another submission is left alone."""
    connection.execute(
        "update registry.launch set ended_at = clock_timestamp() "
        "where launch_id = %s and claimed_by = %s and ended_at is null",
        (launch_id, submission_id),
    )


def check_undriven(connection: Connection, key: Key) -> None:
    """Pass where no launch of the version is open. Raises Driven."""
    open_launch = connection.execute(
        "select 1 from registry.launch where job = %(job)s and version = %(version)s and ended_at is null", key
    ).fetchone()
    if open_launch:
        raise Driven(**key)


def raise_epoch(connection: Connection, key: Key, submission_id: str, pid: int) -> int:
    """The new epoch, noted as a start. A zombie that stopped inside its transaction holds the fence row: it is ended
    first."""
    connection.execute(
        "select registry.end_older_drivers(job, version, epoch + 1) from registry.fence "
        "where job = %(job)s and version = %(version)s",
        key,
    )
    row = connection.execute(
        "update registry.fence set epoch = epoch + 1 where job = %(job)s and version = %(version)s returning epoch",
        key,
    ).fetchone()
    assert row is not None, f"the registry has no fence for {key}"
    connection.execute(
        "insert into registry.driver_start (job, version, epoch, submission_id, driver_pid) "
        "values (%(job)s, %(version)s, %(epoch)s, %(submission)s, %(pid)s)",
        {**key, "epoch": row[0], "submission": submission_id, "pid": pid},
    )
    return int(row[0])


def end_older(connection: Connection, key: Key, epoch: int) -> None:
    """End what older drivers connected meanwhile: within a transaction the list of connections stands still."""
    connection.execute("select registry.end_older_drivers(%(job)s, %(version)s, %(epoch)s)", {**key, "epoch": epoch})


def raise_red(connection: Connection, key: Key, what: str, detail: str) -> None:
    """Show a red line of the version, unless another epoch than the one in `key` owns it."""
    connection.execute(_RAISE_RED, {**key, "what": what, "detail": detail})


def clear_red(connection: Connection, key: Key, what: Sequence[str]) -> None:
    """Take red lines of the version away, unless another epoch than the one in `key` owns it."""
    connection.execute(_CLEAR_RED, {**key, "what": list(what)})


def give_up(connection: Connection, key: Key, reason: str) -> bool:
    """State FAILED, and a red line that says why; False, and nothing changed, where another epoch owns the version."""
    if not connection.execute(_FAIL, key).rowcount:
        return False
    raise_red(connection, key, "failed", reason)
    return True
