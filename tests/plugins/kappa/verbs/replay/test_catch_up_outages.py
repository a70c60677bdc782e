"""An outage of whatever length does not end a replay; a candidate that stands still while all parts answer does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from kappa.core.audit import Author
from kappa.core.installation.settings import Settings
from kappa.core.replays import Standing
from kappa.core.versions import State
from kappa.platform import Platform
from kappa.unavailable import Unreachable
from kappa.verbs.replay.catch_up import POLL_SECONDS, Pursuit, Watch
from kappa.verbs.replay.progress import CatchUp, Progress
from tests.plugins.fake_releases import FakeReleases
from tests.plugins.fakes import NOON, FakeCluster, FakeLog, FakeRegistry
from tests.plugins.replay_plans import live

KEY = ("ad_ctr", 5)


class Outages(FakeReleases):
    """Releases in a database that may be away."""

    away = False

    def standing(self, job: str, version: int) -> Standing:
        if self.away:
            raise Unreachable("Postgres", "nowhere", "it is away")
        return super().standing(job, version)


class Watched:
    """A candidate that commits nothing, and who watches it."""

    def __init__(self, settings: Settings) -> None:
        self.registry = FakeRegistry()
        self.registry.stage(replace(live(*KEY), state=State.CATCHING_UP, start_offsets={0: 0}), Author("ada", "r"), {})
        self.registry.ends[KEY] = {0: 10_000}
        self.log, self.releases = FakeLog({0: 0}, {0: [0] * 10_000}), Outages(self.registry)
        clock, cluster = self.registry.clock, FakeCluster(self.registry)
        self.platform = Platform(settings, self.registry, cluster, self.log.opened, clock, self.releases)
        self.watch = Watch(self.platform, Pursuit({"ad_ctr": 5}, 10_000, NOON, NOON + timedelta(hours=6)))

    def read_all(self) -> None:
        """Have the candidate read what the log holds, wholly."""
        self.registry.next_offsets[KEY] = {0: 10_000}
        self.releases.final[KEY] = self.registry.clock.now()

    def keep_for(self, retention: timedelta) -> None:
        """The log's records were appended as the pursuit began, and are kept for so long."""
        self.log.times = {0: [round(NOON.timestamp() * 1000)] * 10_000}
        self.log.topic = replace(self.log.topic, retention_ms=round(retention.total_seconds() * 1000))

    def look_for(self, seconds: float, reads: int = 0) -> Progress | None:
        """What the last look of so many seconds said, or the first one that says that it fails; None: nothing did. The
        candidate commits a batch of so many records before each."""
        progress = None
        for _ in range(round(seconds / POLL_SECONDS)):
            self.registry.clock.sleep(POLL_SECONDS)
            if reads:
                self.registry.next_offsets[KEY] = {0: self.registry.next_offsets[KEY][0] + reads}
                self.registry.beat(*KEY, "driver", 1, commits=True)
            try:
                progress = self.watch.look()
            except Unreachable:
                continue
            if progress.state is CatchUp.FAILING:
                break
        return progress

    @contextmanager
    def outage(self, part: str) -> Iterator[None]:
        whose = self.log if part == "log" else self.releases
        whose.away = True
        yield
        whose.away = False


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(Settings(home=tmp_path))


@pytest.mark.parametrize("part", ["log", "database"])
def test_an_outage_of_half_an_hour_ends_no_replay(watched: Watched, part: str) -> None:
    watched.look_for(60)
    with watched.outage(part):
        watched.look_for(1_800)
    after = watched.look_for(240)
    assert after is not None
    assert after.state is CatchUp.HYDRATING, after.sentence


@pytest.mark.parametrize("part", ["log", "database"])
def test_who_stands_still_after_the_outage_is_failing(watched: Watched, part: str) -> None:
    with watched.outage(part):
        watched.look_for(1_800)
    after = watched.look_for(930)
    assert after is not None
    assert "failing: no batch was committed for 15 min 03 s since its launch, outages not counted" in after.sentence


def test_a_watch_made_anew_after_a_pause_of_everything_gives_the_candidate_its_time(watched: Watched) -> None:
    watched.look_for(60)
    watched.registry.clock.sleep(3_600)
    watched.watch = Watch(watched.platform, watched.watch.pursuit)
    after = watched.look_for(240)
    assert after is not None
    assert after.state is CatchUp.HYDRATING, after.sentence


@pytest.mark.parametrize("remembered", [True, False], ids=["the same watch", "a watch made anew"])
def test_a_candidate_that_read_on_while_nobody_looked_is_ready_after_its_deadline(
    watched: Watched, remembered: bool
) -> None:
    watched.look_for(60)
    watched.registry.clock.sleep(7 * 3_600)
    watched.read_all()
    if not remembered:
        watched.watch = Watch(watched.platform, watched.watch.pursuit)
    after = watched.look_for(3 * POLL_SECONDS)
    assert after is not None
    assert after.state is CatchUp.READY, after.sentence


def test_after_a_deadline_that_passed_in_an_outage_a_candidate_has_some_minutes_to_catch_up(watched: Watched) -> None:
    """Nothing could be committed meanwhile, so nobody can be close to the end at the first look."""
    watched.look_for(60)
    with watched.outage("database"):
        watched.registry.clock.sleep(7 * 3_600)
    after = watched.look_for(240)
    assert after is not None
    assert after.state is CatchUp.HYDRATING, after.sentence
    watched.read_all()
    assert (ready := watched.look_for(3 * POLL_SECONDS)) is not None
    assert ready.state is CatchUp.READY, ready.sentence


def test_who_is_not_ready_some_minutes_after_a_deadline_that_nobody_saw_is_failing(watched: Watched) -> None:
    watched.registry.clock.sleep(7 * 3_600)
    after = watched.look_for(330)
    assert after is not None
    assert "failing: not ready by 2026-01-31T18:00:00Z, with 10,000 records unread" in after.sentence


@pytest.mark.parametrize(
    ("part", "outage", "restart"),
    [("log", 1_800, 0), ("database", 315, 0), ("log", 1_800, 60), ("database", 1_800, 60)],
)
def test_a_candidate_that_reads_before_and_after_an_outage_is_as_fast_as_it_reads(
    watched: Watched, part: str, outage: float, restart: float
) -> None:
    """And not as if it had read on through the outage, or the time that its driver takes to begin again."""
    watched.keep_for(timedelta(minutes=90))
    watched.look_for(60, reads=15)
    with watched.outage(part):
        watched.look_for(outage)
    watched.look_for(restart)
    after = watched.look_for(360, reads=15)
    assert after is not None
    assert after.state is CatchUp.HYDRATING, after.sentence


def test_a_candidate_that_is_too_slow_for_the_log_is_failing_some_minutes_after_an_outage(watched: Watched) -> None:
    watched.keep_for(timedelta(minutes=90))
    with watched.outage("log"):
        watched.look_for(1_800)
    after = watched.look_for(240, reads=2)
    assert after is not None
    assert re.search(r"the log will drop records .* before ad_ctr v5 gets to them at 1 records/s", after.sentence)
