"""The hand-over in Postgres: one transaction that makes the live drivers wait, then moves the segments, or nothing.

Delivery guarantee: at the moment the segments move, the new versions have read at least what the old ones have, in
every partition, and no old one commits in between: its batch takes its fence
`for no key update`, and that waits for the lock that is held here.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from psycopg import errors
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from kappa.core.audit import Author, Entry
from kappa.core.replays import HandOver, Lag, Release, approver, behind
from kappa.core.versions import Segment, State
from kappa.registry.port import Check, UnknownVersion, passes
from kappa.registry.releases.progress import release
from kappa.registry.releases.replays import newest_replay_of
from kappa.registry.releases.segments import canonical, carried_out
from kappa.registry.releases_port import HeldUp, NotCaughtUp, NotFit, SegmentsChanged
from kappa.registry.transactions import Connection, Database, audit, take_turn, take_turn_on_all_jobs
from kappa.registry.versions import INSERT_SEGMENT, SET_STATE

POLL_SECONDS = 0.05
MARGIN_SECONDS = 3.0
"""How much longer than the wait the whole transaction may take, by Postgres's own clock."""
FIT = (State.CAUGHT_UP, State.PREVIOUS)
# A turn of its own: whoever only wants the turn on a job, say for a lease, does not wait for a hand-over to catch up.
_TURN = "select pg_advisory_xact_lock(hashtextextended('kappa:hand-over:' || %s, 0))"
_FENCE = "select epoch from registry.fence where job = %s and version = %s for update"
_SEGMENTS = """
select job, from_window::text, to_window::text, version from registry.segment s
where job = any(%s) order by s.job, s.from_window"""
_OFFSETS = 'select "partition", next_offset from registry.progress where job = %s and version = %s'
_MADE = "select * from registry.release where evidence ->> 'run_id' = %s and jobs = %s order by release_id desc"
_RELEASE = """
insert into registry.release (jobs, segments_before, segments_after, offsets_before, offsets_after, promoted_by,
    approved_by, evidence)
values (%(jobs)s, %(before)s, %(after)s, %(offsets_before)s, %(offsets_after)s, %(actor)s, %(approved_by)s,
    %(evidence)s)
returning *"""


@dataclass(frozen=True)
class PostgresHandOver:
    """The part of Releases that moves segments."""

    database: Database

    def hand_over(self, plan: HandOver, by: Author, seconds: float = 15.0, check: Check = passes) -> Release:
        """Move the segments once the targets have read what the live versions have; the run's release if it did so.

        Raises SegmentsChanged, NotCaughtUp, HeldUp, NotFit, BrokenSegments, and what `check` does: nothing was moved
        then.
        """
        plan, ends = canonical(plan), time.monotonic() + seconds
        with self.database.transaction() as connection:
            _limit(connection, "transaction_timeout", seconds + MARGIN_SECONDS)
            for job in plan.jobs:
                with _in_time(connection, plan, ends, seconds):
                    connection.execute(_TURN, [job])
            if made := _made(connection, plan, by):
                return made
            with _in_time(connection, plan, ends, seconds):
                take_turn_on_all_jobs(connection)
            check()
            _check(connection, plan)
            held_at = _hold_fences(connection, plan, ends, seconds)
            _await_targets(connection, plan, ends, seconds)
            for job in plan.jobs:
                with _in_time(connection, plan, ends + MARGIN_SECONDS / 2, seconds):
                    take_turn(connection, job)
            approves = _check(connection, plan)
            return _move(connection, plan, by, approves, time.monotonic() - held_at)


def _limit(connection: Connection, what: str, seconds: float) -> None:
    connection.execute("select set_config(%s, %s, true)", [what, f"{max(1, round(seconds * 1000))}ms"])


@contextmanager
def _in_time(connection: Connection, plan: HandOver, ends: float, seconds: float) -> Iterator[None]:
    """For a statement that takes a lock. Raises HeldUp when it did not get it by `ends` (monotonic seconds)."""
    _limit(connection, "lock_timeout", ends - time.monotonic())
    try:
        yield
    except errors.LockNotAvailable as error:
        raise HeldUp(plan, seconds) from error


def _made(connection: Connection, plan: HandOver, by: Author) -> Release | None:
    """What this run made of this plan, or of an earlier one to the same end: once moved there is only forward."""
    rows = connection.execute(_MADE, [by.run_id, list(plan.jobs)]).fetchall()
    found = _segments(connection, plan)
    return next((one for one in map(release, rows) if carried_out(plan, one, found)), None)


def _check(connection: Connection, plan: HandOver) -> bool:
    """Pass when the plan still holds; whether a candidate serves for the first time. Raises SegmentsChanged, NotFit."""
    found = _segments(connection, plan)
    if found != plan.before:
        raise SegmentsChanged(plan, found)
    states = {job: _state(connection, job, plan.targets[job]) for job in plan.jobs}
    for job, state in states.items():
        if state not in FIT:
            raise NotFit(job, plan.targets[job], state)
    return State.CAUGHT_UP in states.values()


def _segments(connection: Connection, plan: HandOver) -> tuple[Segment, ...]:
    rows = connection.execute(_SEGMENTS, [list(plan.jobs)])
    return tuple(Segment(**row) for row in rows)


def _state(connection: Connection, job: str, version: int) -> State:
    row = connection.execute(
        "select state from registry.job_version where job = %s and version = %s", [job, version]
    ).fetchone()
    if row is None:
        raise UnknownVersion(job, version)
    return State(row["state"])


def _hold_fences(connection: Connection, plan: HandOver, ends: float, seconds: float) -> float:
    """Hold the fences of the live versions, in job order: their batches wait from then on (monotonic seconds)."""
    held_at = time.monotonic()
    for job in plan.jobs:
        with _in_time(connection, plan, ends, seconds):
            connection.execute(_FENCE, [job, plan.olds[job]])
    return held_at


def _await_targets(connection: Connection, plan: HandOver, ends: float, seconds: float) -> None:
    """Wait until every target has read what its live version has. Raises NotCaughtUp."""
    while lags := _lags(connection, plan):
        if time.monotonic() >= ends:
            raise NotCaughtUp(lags, seconds)
        time.sleep(POLL_SECONDS)


def _lags(connection: Connection, plan: HandOver) -> list[Lag]:
    lags: list[Lag] = []
    for job in plan.jobs:
        live, target = (_offsets(connection, job, of[job]) for of in (plan.olds, plan.targets))
        lags += behind(job, plan.targets[job], live, target)
    return lags


def _offsets(connection: Connection, job: str, version: int) -> dict[int, int]:
    rows = connection.execute(_OFFSETS, [job, version])
    return {row["partition"]: row["next_offset"] for row in rows}


def _move(connection: Connection, plan: HandOver, by: Author, first: bool, held_seconds: float) -> Release:
    connection.execute("delete from registry.segment where job = any(%s)", [list(plan.jobs)])
    for segment in plan.after:
        connection.execute(INSERT_SEGMENT, segment.to_json())
    for job in plan.jobs:
        _set_state(connection, job, plan.olds[job], [State.LIVE], State.PREVIOUS)
        _set_state(connection, job, plan.targets[job], FIT, State.LIVE)
    made = release(_insert_release(connection, plan, by, first, held_seconds))
    for job in plan.jobs:
        told = {"release_id": made.release_id, "from_window": plan.from_window, "old": plan.olds[job]}
        audit(connection, Entry(by, "release.made", job, plan.targets[job], told))
    return made


def _set_state(connection: Connection, job: str, version: int, old: Sequence[State], new: State) -> None:
    connection.execute(SET_STATE, {"job": job, "version": version, "old": list(old), "new": new})


def _insert_release(connection: Connection, plan: HandOver, by: Author, first: bool, held_seconds: float) -> DictRow:
    replay = newest_replay_of(connection, plan.targets)
    evidence: dict[str, Any] = {
        "run_id": by.run_id,
        "reason": by.reason,
        "from_window": plan.from_window,
        "targets": dict(plan.targets),
        "hand_over_seconds": round(held_seconds, 3),
        "replay_id": str(replay.replay_id) if replay else None,
        "validation": replay.validation if replay else None,
    }
    values = {
        "jobs": list(plan.jobs),
        "before": Jsonb([segment.to_json() for segment in plan.before]),
        "after": Jsonb([segment.to_json() for segment in _segments(connection, plan)]),
        "offsets_before": Jsonb({job: _offsets(connection, job, plan.olds[job]) for job in plan.jobs}),
        "offsets_after": Jsonb({job: _offsets(connection, job, plan.targets[job]) for job in plan.jobs}),
        "actor": by.actor,
        "approved_by": approver(replay, first, by.actor),
        "evidence": Jsonb(evidence),
    }
    (row,) = connection.execute(_RELEASE, values).fetchall()
    return row
