"""A driver is killed at each point of a batch, and the next one goes on from what was committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import pytest

from tests.faults.struck_driver import BLOWS_FILE, Blow, Point
from tests.faults.submitted import submitted
from tests.rigs.events import mixture
from tests.rigs.rig import Rig

pytestmark = [pytest.mark.rig, pytest.mark.timeout(600, func_only=True)]
Strike = tuple[Blow, Point]
SOME = {"ad_ctr": ((Blow.KILL_PYTHON, Point.WRITTEN), (Blow.KILL_JAVA, Point.COMMITTED))}
"""The second time with the first batch of the driver that recovers, which does again what the first one left."""
ALL = {
    job: tuple((blow, point) for point in (Point.BEFORE, Point.WRITTEN, Point.COMMITTED, Point.BEFORE))
    for job, blow in (("ad_ctr", Blow.KILL_PYTHON), ("client_spend", Blow.KILL_JAVA))
}


@pytest.mark.fault("F1", "each start is a new epoch, the batch left pending is done again, and differences are 0")
@pytest.mark.fault("F2", "killed once more while it recovers: the third start reads on, exact")
def test_killed_in_and_after_the_transaction_and_again_the_next_driver_goes_on(rig: Rig, seed: int) -> None:
    strike_and_go_on(rig, seed, SOME)


@pytest.mark.long(minutes=4)
@pytest.mark.fault("F1", "at each point of a batch: what was killed before its COMMIT is done again, what after is not")
def test_killed_at_each_point_of_a_batch_the_next_driver_goes_on(rig: Rig, seed: int) -> None:
    strike_and_go_on(rig, seed, ALL)


def strike_and_go_on(rig: Rig, seed: int, strikes: Mapping[str, Sequence[Strike]]) -> None:
    """Start and kill drivers, those of all jobs at once: the Python program, or the JVM, which its program outlives;
    then let the next ones read on."""
    case = rig.case(*strikes, records_per_batch=100)
    case.produce(mixture(seed, 600))
    for struck in zip(*strikes.values(), strict=True):
        with ExitStack() as held:
            for job, (blow, point) in zip(strikes, struck, strict=True):
                driver = held.enter_context(submitted(case.version(job), point, blow))
                held.callback(driver.await_gone)
                held.callback(driver.await_end)
    for job, all_of_it in strikes.items():
        felt = (case.version(job).folder / BLOWS_FILE).read_text().splitlines()
        assert felt == [f"{blow} at {point}" for blow, point in all_of_it]
        committed = [point for _, point in all_of_it].count(Point.COMMITTED)
        assert len(case.batches(job)) == committed, "only what was killed after its COMMIT"
    case.run_until_read()
    case.check()
    starts = case.query("select job, count(*) as n from registry.driver_start group by job order by job")
    assert [(row["job"], row["n"]) for row in starts] == [(job, len(strikes[job]) + 1) for job in sorted(strikes)]
