"""When a driver that keeps dying is given up: what its earlier starts came to, and the rules over that."""

from __future__ import annotations

from dataclasses import dataclass

from kappa.core.installation.settings import Supervision
from kappa.core.refusals import Refusal


@dataclass(frozen=True)
class Starts:
    """Earlier starts of a version's drivers: `recent` of one submission, within a time; `in_vain` since the version was
    last changed, committed a batch or had nothing unread, whatever submission they were of and however long they took.
    """

    recent: int
    in_vain: int


COUNT_STARTS = """
select count(*) filter (where s.submission_id = %(submission)s
        and s.started_at > clock_timestamp() - %(minutes)s * interval '1 minute') as recent,
    count(*) filter (where s.started_at > v.worked_at) as in_vain
from registry.driver_start s join (
    select job, version, greatest(updated_at,
        (select max(committed_at) from registry.batch b where (b.job, b.version) = (v.job, v.version)),
        (select min(coalesce(greatest(read_append_time, drained_at), '-infinity')) from registry.progress p
            where (p.job, p.version) = (v.job, v.version))) as worked_at
    from registry.job_version v) v using (job, version)
where s.job = %(job)s and s.version = %(version)s"""
"""What Starts holds. A partition that was read past a start's moment had nothing unread after it; one that stands still
at a record which kills the driver holds the whole version back."""


REMEDY = (
    "Mend the cause, then give it a new try: './kappa start' where it serves, './kappa rollback' where it served "
    "before; a candidate is replayed again."
)


class CrashLoop(Refusal):
    """The driver was started too often in too short a time."""

    def __init__(self, starts: int, minutes: int) -> None:
        super().__init__(
            f"the driver was started {starts} times within {minutes} minutes and gives up; its output is in the "
            f"folder of its submission under 'spark'. {REMEDY}"
        )


class StartsInVain(Refusal):
    """The driver was started again and again, and none of its starts came as far as a commit."""

    def __init__(self, starts: int) -> None:
        super().__init__(
            f"the driver was started {starts} times in a row, committed nothing while records wait, and gives up; its "
            f"output is in the folder of its submission under 'spark'. {REMEDY}"
        )


def check(starts: Starts, limits: Supervision) -> None:
    """Pass while one more start may help. Raises CrashLoop, StartsInVain."""
    if starts.in_vain >= limits.starts_in_vain:
        raise StartsInVain(starts.in_vain)
    if starts.recent >= limits.max_restarts:
        raise CrashLoop(starts.recent, limits.within_minutes)
