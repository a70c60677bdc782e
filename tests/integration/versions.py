"""What a job's version runs as, as the operator's views say it."""

from __future__ import annotations

from tests.rigs.running_stack import Stack

JOB = "ad_ctr"


def runs_as(stack: Stack, job: str = JOB) -> dict[str, object]:
    """What the job's one version is made to run as, and whether a change or a lease is open."""
    ((artifact, partitions, generation, desired, state),) = stack.query(
        "select artifact, state_partitions, generation, desired, state from ops.versions where job = %s", job
    )
    (held,) = stack.query(
        "select (select count(*) from ops.changes where job = %s and ended_at is null) "
        "+ (select count(*) from ops.leases where job = %s)", job, job)[0]  # fmt: skip
    return {
        "artifact": artifact,
        "partitions": partitions,
        "generation": generation,
        "desired": desired,
        "state": state,
        "open": held,
    }


def is_marked(stack: Stack, mark: str) -> bool:
    query = "select count(*) from ops.changes where job = %s and ended_at is null and marks ? %s"
    return bool(stack.query(query, JOB, mark)[0][0])


def batches(stack: Stack, job: str = JOB) -> int:
    """How many the job has committed."""
    ((count,),) = stack.query("select count(*) from ops.batches where job = %s", job)
    return int(count)


def epochs(stack: Stack) -> list[tuple[str, int]]:
    """The epoch of each job's driver: who owns the version."""
    return [(job, epoch) for job, epoch in stack.query("select job, epoch from ops.drivers order by job")]
