"""A driver is killed at each point of a batch, and the next one goes on from what was committed."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.events import mixture
from tests.faults.struck_driver import BLOWS_FILE, Blow, Point
from tests.faults.submitted import submitted
from tests.rig import Rig

pytestmark = [pytest.mark.rig, pytest.mark.timeout(600, func_only=True)]
VICTIMS = {"ad_ctr": Blow.KILL_PYTHON, "client_spend": Blow.KILL_JAVA}
POINTS = (Point.BEFORE, Point.WRITTEN, Point.COMMITTED)


@pytest.mark.fault("F1", "each start is a new epoch, the batch left pending is done again, and differences are 0")
def test_killed_before_in_and_after_the_transaction_the_next_driver_goes_on(rig: Rig, seed: int) -> None:
    """Six kills: of the Python program of one job, and of the JVM of the other, which its program outlives."""
    case = rig.case(*VICTIMS, records_per_batch=100)
    case.produce(mixture(seed, 600))
    for point in POINTS:
        with ExitStack() as held:
            for job, blow in VICTIMS.items():
                driver = held.enter_context(submitted(case.version(job), point, blow))
                held.callback(driver.await_gone)
                held.callback(driver.await_end)
    for job, blow in VICTIMS.items():
        blows = (case.version(job).folder / BLOWS_FILE).read_text().splitlines()
        assert blows == [f"{blow} at {point}" for point in POINTS]
    assert len(case.batches("ad_ctr")) == 1, "only what was killed after its COMMIT is in"
    case.run_until_read()
    case.check()
    starts = case.query("select job, count(*) as n from registry.driver_start group by job order by job")
    assert [(row["job"], row["n"]) for row in starts] == [(job, len(POINTS) + 1) for job in VICTIMS]
