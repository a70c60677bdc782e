"""Deadlines that keep their length while the machine's time is moved, and ages that are told by the database's time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest

from kappa.core.audit import Author
from kappa.core.requests.reprocessing import ReprocessRequest
from kappa.platform import Platform, WallClock, wait_until
from kappa.registry.port import UnderWay
from kappa.verbs import lease
from kappa.verbs.drivers.readiness import FIRST_BEAT_SECONDS, Impatience
from kappa.verbs.replay import catch_up
from kappa.verbs.replay import steps as reprocess
from kappa.verbs.replay.observation import plan_reprocess
from kappa.verbs.replay.progress import CatchUp
from tests.plugins.conftest import Stage
from tests.plugins.fakes import FakeClock
from tests.plugins.kappa.verbs.repair.test_repair_steps import repaired
from tests.plugins.kappa.verbs.retire.test_retire_steps import replayed, sweep
from tests.plugins.replay_runs import JOBS, deployed

OTHER = Author("other", "run-2")
HOURS = [timedelta(hours=-2), timedelta(hours=2)]


@dataclass
class MovedClock:
    """The clock of a machine whose time is so much ahead, from the first sleep on; the database's is not."""

    true: FakeClock
    ahead: timedelta
    slept: bool = False

    def now(self) -> datetime:
        return self.true.now() + (self.ahead if self.slept else timedelta())

    def monotonic(self) -> float:
        return self.true.monotonic()

    def sleep(self, seconds: float) -> None:
        self.slept = True
        self.true.sleep(seconds)


@pytest.fixture(params=HOURS, ids=["behind", "ahead"])
def moved(stage: Stage, request: pytest.FixtureRequest) -> Platform:
    """The platform with a machine whose time will be moved."""
    return replace(stage.platform, clock=MovedClock(stage.clock, request.param))


@pytest.fixture(params=HOURS, ids=["behind", "ahead"])
def wrong(stage: Stage, request: pytest.FixtureRequest) -> Iterator[Platform]:
    """The platform with a machine whose time is another than the database's all along."""
    right = stage.platform
    stage.platform = replace(right, clock=MovedClock(stage.clock, request.param, slept=True))
    yield right
    stage.platform = right


def test_a_wait_is_as_long_as_it_says(moved: Platform) -> None:
    asked: list[float] = []

    def never() -> bool:
        asked.append(moved.clock.monotonic())
        assert len(asked) < 100
        return False

    assert not wait_until(moved.clock, 10, never)
    assert asked[-1] - asked[0] == 10


def test_the_wait_for_a_lease_is_as_long_as_it_says(stage: Stage, moved: Platform, author: Author) -> None:
    deployed(stage, author)
    lease.take(moved, "stop", "ad_ctr", OTHER, 7200, 0, lambda _: False)
    begun = moved.clock.monotonic()
    with pytest.raises(UnderWay):
        lease.take(moved, "deploy", "ad_ctr", author, 60, 30, lambda _: False)
    assert 30 <= moved.clock.monotonic() - begun < 40


def test_a_changed_driver_gets_its_time_for_a_first_heartbeat(stage: Stage, moved: Platform, author: Author) -> None:
    deployed(stage, author)
    stage.registry.beats.clear()
    (launch,) = (one for one in stage.registry.launches.values() if one.job == "ad_ctr")
    impatience = Impatience(moved.clock.monotonic())
    moved.clock.sleep(FIRST_BEAT_SECONDS - 1)
    impatience.look(moved, launch)


@pytest.mark.usefixtures("wrong")
def test_a_launch_is_as_old_as_the_database_says(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    stage.registry.beats.clear()
    assert repaired(stage) == "nothing to repair."


@pytest.mark.usefixtures("wrong")
def test_a_version_is_kept_as_long_as_the_database_says(stage: Stage, author: Author) -> None:
    replayed(stage, author)
    assert "nothing to retire" in sweep(stage)
    stage.clock.sleep(3601)
    assert "ad_ctr v1 was stopped" in sweep(stage)


@pytest.mark.usefixtures("wrong")
def test_a_candidate_stands_still_for_as_long_as_the_database_says(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    stage.clock.meanwhile.clear()
    planned = plan_reprocess(stage.platform, ReprocessRequest(JOBS))
    lease.take_on(stage.platform, "reprocess", {"ad_ctr": 2, "client_spend": 2}, OTHER, 3600, 0, lambda _: False)
    reprocess.stage(stage.platform, "reprocess", planned, OTHER)
    pursuit = reprocess.pursue(stage.platform, "reprocess", OTHER)
    assert pursuit is not None
    watch = catch_up.Watch(stage.platform, pursuit)
    begun = stage.clock.monotonic()
    while watch.look().state is CatchUp.HYDRATING:
        stage.clock.sleep(catch_up.POLL_SECONDS)
        assert stage.clock.monotonic() - begun < 1_000
    assert watch.look().state is CatchUp.FAILING
    assert 900 <= stage.clock.monotonic() - begun < 930


def test_the_machines_clock_only_grows() -> None:
    clock = WallClock()
    first = clock.monotonic()
    assert clock.monotonic() >= first
