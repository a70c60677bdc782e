"""A driver that was stopped for long enough to be replaced writes nothing once it goes on, and leaves."""

from __future__ import annotations

from typing import Any

import pytest

from stack.waiting import until
from tests.case import PATIENCE_SECONDS, Case
from tests.events import events
from tests.faults.struck_driver import Blow, Point
from tests.faults.submitted import submitted
from tests.rig import Rig

pytestmark = [pytest.mark.rig, pytest.mark.timeout(300, func_only=True)]


def owned(case: Case) -> dict[str, Any]:
    """What a driver that was replaced must not touch."""
    told = "select state, desired, generation from registry.job_version"
    launch = "select launch_id, claimed_by from registry.launch where ended_at is null"
    return {
        "rows": case.rows(),
        "batches": case.batches(),
        "progress": case.progress(),
        "red": case.red(),
        "version": case.query(told),
        "launch": case.query(launch),
        "epoch": case.query("select f.epoch, h.epoch as beats from registry.fence f, registry.heartbeat h"),
    }


@pytest.mark.parametrize(
    "point",
    [
        pytest.param(
            Point.COMPUTED, marks=pytest.mark.fault("F3", "'was taken over' in the first driver's log, exit code 0")
        ),
        pytest.param(
            Point.WRITTEN,
            marks=pytest.mark.fault("F36", "the successor ends the backend that holds the fence, and commits"),
        ),
    ],
)
def test_a_zombie_writes_nothing_after_its_successor_took_over_and_leaves(rig: Rig, point: Point) -> None:
    case = rig.case()
    case.produce(events(40))
    with submitted(case.version(), point, Blow.STOP, spared=1) as zombie:
        assert until(lambda: bool(case.batches()) or zombie.jvm.poll() is not None, PATIENCE_SECONDS)
        case.produce(events(40, 100))
        zombie.await_stopped()
        first = case.batches()
        with case.driver() as successor:
            for number in range(3):
                case.produce(events(20, 200 + 20 * number))
                successor.await_read()
            assert len(case.batches()) >= len(first) + 3
            successor.until("the successor beats", lambda: len({*owned(case)["epoch"][0].values()}) == 1)
            before = owned(case)
            zombie.resume()
            assert zombie.await_end() == 0
            assert owned(case) == before
            case.produce(events(20, 300))
            successor.await_read()
    assert "was taken over; this driver stops writing" in zombie.said
    assert {batch["epoch"] for batch in case.batches()[len(first) :]} == {before["epoch"][0]["epoch"]}
    case.check()
