"""A driver that was stopped for long enough to be replaced writes nothing once it goes on, and leaves."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from stack.waiting import until
from tests.faults.struck_driver import Blow, Point
from tests.faults.submitted import Submitted, submitted
from tests.rigs.case import Case
from tests.rigs.events import events
from tests.rigs.program import PATIENCE_SECONDS
from tests.rigs.rig import Rig

pytestmark = [pytest.mark.rig, pytest.mark.timeout(300, func_only=True)]


def owned(case: Case, job: str) -> dict[str, Any]:
    """What a driver that was replaced must not touch."""
    told = "select state, desired, generation from registry.job_version where job = %s"
    launch = "select launch_id, claimed_by from registry.launch where ended_at is null and job = %s"
    beats = (
        "select f.epoch, h.epoch as beats from registry.fence f join registry.heartbeat h using (job) where job = %s"
    )
    return {
        "rows": case.rows(job),
        "batches": case.batches(job),
        "progress": case.progress(job),
        "red": case.red(job),
        "version": case.query(told, job),
        "launch": case.query(launch, job),
        "epoch": case.query(beats, job),
    }


@pytest.mark.fault("F3", "'was taken over' in the first driver's log, exit code 0")
@pytest.mark.fault("F36", "the successor ends the backend that holds the fence, and commits")
def test_a_zombie_writes_nothing_after_its_successor_took_over_and_leaves(rig: Rig) -> None:
    stop_and_take_over(rig, "client_spend", Point.WRITTEN)


@pytest.mark.long(minutes=1)
@pytest.mark.fault("F3", "stopped with its batch ready to be written: none of it is")
def test_a_zombie_that_had_not_begun_to_write_does_not_begin(rig: Rig) -> None:
    stop_and_take_over(rig, "ad_ctr", Point.COMPUTED)


def stop_and_take_over(rig: Rig, job: str, point: Point) -> None:
    """Stop a driver at this point of its second batch, and have another one take its place."""
    case = rig.case(job)
    case.produce(events(40))
    with submitted(case.version(job), point, Blow.STOP, spared=1) as zombie:
        assert until(partial(has_begun, case, job, zombie), PATIENCE_SECONDS)
        case.produce(events(40, 100))
        zombie.await_stopped()
        succeed(case, job, zombie)
    case.run_until_read()
    case.check()


def has_begun(case: Case, job: str, zombie: Submitted) -> bool:
    """Whether it has committed its first batch, or will not any more."""
    return bool(case.batches(job)) or zombie.has_ended


def succeed(case: Case, job: str, zombie: Submitted) -> None:
    """Another driver takes over and commits; then the zombie goes on, and leaves."""
    first = case.batches(job)
    with case.driver(job) as successor:
        for number in range(3):
            case.produce(events(20, 200 + 20 * number))
            successor.await_read()
        assert len(case.batches(job)) >= len(first) + 3
        successor.until("the successor beats", lambda: len({*owned(case, job)["epoch"][0].values()}) == 1)
        before = owned(case, job)
        zombie.resume()
        assert zombie.await_end() == 0
        assert owned(case, job) == before
        case.produce(events(20, 260))
        successor.await_read()
    assert "was taken over; this driver stops writing" in zombie.said
    assert {batch["epoch"] for batch in case.batches(job)[len(first) :]} == {before["epoch"][0]["epoch"]}


def test_a_driver_that_was_taken_over_leaves_also_if_there_is_nothing_to_write(rig: Rig) -> None:
    """Its query would idle on the checkpoint of its successor, until the next record comes."""
    case = rig.case()
    case.produce(events(20))
    with case.driver() as first:
        first.await_read()
        case.query("update registry.fence set epoch = epoch + 1")
        first.await_end()
        assert first.exit_code == 0
        assert first.error is None
    assert (case.state(), case.red()) == ("LIVE", {})
