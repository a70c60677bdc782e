"""What an operator meets and does on rig R1: a start that is refused, a new try, a replay into a new version."""

from __future__ import annotations

from tests.rigs.case import Case
from tests.rigs.staged_driver import stage


def refused(case: Case, job: str | None = None) -> str:
    """Start the driver, which has to give the version up by itself; the reason that it shows."""
    with case.driver(job) as program:
        program.await_end()
    assert case.state(job) == "FAILED", case.red(job)
    return case.red(job)["failed"]


def revive(case: Case, job: str | None = None) -> None:
    """Give a version that gave up a new try, as './kappa start' does."""
    staged = case.version(job)
    case.query("update registry.job_version set state = 'LIVE' where job = %s and version = %s and state = 'FAILED'",
               staged.job, staged.version)  # fmt: skip


def replay(case: Case, job: str | None = None) -> None:
    """Read the log again into a new version that serves in the old one's place, as './kappa reprocess' ends."""
    staged = case.version(job)
    case.versions[staged.job] = stage(case.layout, staged.job, staged.settings)
    case.run_until_read(staged.job)


def served(case: Case, job: str | None = None) -> tuple[object, ...]:
    """All that a start which is refused must leave as it is: rows, positions, batches."""
    rows = sorted(case.rows(job), key=str)
    return rows, case.progress(job), [batch["batch_id"] for batch in case.batches(job)]
