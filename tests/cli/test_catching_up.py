"""The progress of a catch-up while a run is followed: from the launch on, until it has come to an end."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from cli.catch_up_progress import CatchUps
from kappa.airflow_api import Run, Seen
from kappa.core.audit import Author, Entry
from kappa.core.installation.settings import Settings
from kappa.core.versions import State
from kappa.platform import Platform
from kappa.verbs.replay.catch_up import Pursuit
from tests.plugins.fake_releases import FakeReleases
from tests.plugins.fakes import NOON, FakeCluster, FakeLog, FakeRegistry
from tests.plugins.replay_plans import live

RUN, SEEN = Run("reprocess_stream", "run-1", "ad_ctr"), Seen("running", {"catch_up": "deferred"})
BY = Author("ada", "run-1")
KEY = ("ad_ctr", 5)


@pytest.fixture
def registry() -> FakeRegistry:
    """A registry with a candidate of which 10,000 records wait."""
    made = FakeRegistry()
    made.stage(replace(live("ad_ctr", 5), state=State.CATCHING_UP, start_offsets={0: 0}), BY, {})
    made.ends[KEY] = {0: 10_000}
    return made


@pytest.fixture
def watch(settings: Settings, registry: FakeRegistry) -> CatchUps:
    log = FakeLog({0: 0}, {0: []})
    platform = Platform(settings, registry, FakeCluster(registry), log.opened, registry.clock, FakeReleases(registry))
    return CatchUps(platform, "reprocess")


def launched(registry: FakeRegistry) -> None:
    pursuit = Pursuit({"ad_ctr": 5}, 10_000, NOON, NOON + timedelta(hours=1))
    registry.record(Entry(BY, "reprocess.launched", *KEY, pursuit.to_json()))


def test_before_the_launch_there_is_nothing_to_say(watch: CatchUps) -> None:
    assert watch.look(RUN, SEEN) is None


def test_records_rate_and_time_left_are_told(watch: CatchUps, registry: FakeRegistry) -> None:
    launched(registry)
    watch.look(RUN, SEEN)
    registry.clock.sleep(20)
    registry.next_offsets[KEY] = {0: 2_000}
    watch.look(RUN, SEEN)
    registry.clock.sleep(1)
    registry.next_offsets[KEY] = {0: 4_000}
    assert watch.look(RUN, SEEN) == "ad_ctr hydrating: 4,000 of 10,000 records (40%), 2,000/s, ready in about 16 s"


@pytest.mark.parametrize("action", ["reprocess.caught_up", "reprocess.refused", "reprocess.failed"])
def test_after_its_end_nothing_is_said(watch: CatchUps, registry: FakeRegistry, action: str) -> None:
    launched(registry)
    assert watch.look(RUN, SEEN) is not None
    registry.record(Entry(BY, action, *KEY))
    assert watch.look(RUN, SEEN) is None
