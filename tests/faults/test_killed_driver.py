"""A driver is killed at each point of a batch, and the next one goes on from what was committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import zip_longest

import pytest

from tests.faults.struck_driver import BLOWS_FILE, Blow, Point
from tests.faults.submitted import submitted
from tests.rigs.events import mixture
from tests.rigs.rig import Rig

pytestmark = [pytest.mark.rig, pytest.mark.timeout(600, func_only=True)]
VICTIMS = {"ad_ctr": Blow.KILL_PYTHON, "client_spend": Blow.KILL_JAVA}
SOME = {"ad_ctr": (Point.WRITTEN, Point.BEFORE), "client_spend": (Point.COMMITTED,)}
"""The second time, of one of them, before the first batch of the driver that recovers."""
ALL = dict.fromkeys(VICTIMS, (Point.BEFORE, Point.WRITTEN, Point.COMMITTED, Point.BEFORE))


@pytest.mark.fault("F1", "each start is a new epoch, the batch left pending is done again, and differences are 0")
@pytest.mark.fault("F2", "killed once more while it recovers: the third start reads on, exact")
def test_killed_in_and_after_the_transaction_and_again_the_next_driver_goes_on(rig: Rig, seed: int) -> None:
    strike_and_go_on(rig, seed, SOME)


@pytest.mark.long(minutes=4)
@pytest.mark.fault("F1", "at each point of a batch: what was killed before its COMMIT is done again, what after is not")
def test_killed_at_each_point_of_a_batch_the_next_driver_goes_on(rig: Rig, seed: int) -> None:
    strike_and_go_on(rig, seed, ALL)


def strike_and_go_on(rig: Rig, seed: int, points: Mapping[str, Sequence[Point]]) -> None:
    """Start and kill drivers: the Python program of one job, and the JVM of the other, which its program outlives; then
    let the next ones read on."""
    case = rig.case(*VICTIMS, records_per_batch=100)
    case.produce(mixture(seed, 600))
    for blows in zip_longest(*points.values()):
        with ExitStack() as held:
            for job, point in zip(points, blows, strict=True):
                if point is None:
                    continue
                driver = held.enter_context(submitted(case.version(job), point, VICTIMS[job]))
                held.callback(driver.await_gone)
                held.callback(driver.await_end)
    for job, blow in VICTIMS.items():
        struck = (case.version(job).folder / BLOWS_FILE).read_text().splitlines()
        assert struck == [f"{blow} at {point}" for point in points[job]]
        assert len(case.batches(job)) == points[job].count(Point.COMMITTED), "only what was killed after its COMMIT"
    case.run_until_read()
    case.check()
    starts = case.query("select job, count(*) as n from registry.driver_start group by job order by job")
    assert [(row["job"], row["n"]) for row in starts] == [(job, len(points[job]) + 1) for job in VICTIMS]
