"""What the port to the cluster promises, asked of the fake and of a real master and worker alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import find, resolve
from kappa.core.versions import Desired, State, Version
from kappa.spark import ALIVE, Cluster, DriverState, StandaloneCluster, Submission
from kappa.unavailable import Unreachable
from kappa.verbs.drivers.submission import submission
from stack.waiting import until
from tests.plugins.fakes import FakeClock, FakeCluster, FakeRegistry
from tests.rigs.small_stack import small_cluster

PATIENCE = 100
# It only stays: the cluster knows drivers by their process, whatever they do.
DRIVER = """
import os, time
parent = os.getppid()
while os.getppid() == parent:
    time.sleep(0.2)
os._exit(0)
"""


@dataclass(frozen=True)
class Trial:
    """A cluster on trial, and the settings by which a driver of it is submitted."""

    cluster: Cluster
    settings: Settings

    def driver(self) -> Submission:
        """A driver that stays until it is killed."""
        version: dict[str, Any] = {
            "job": "quarantine", "version": 1, "artifact": "stays", "settings": resolve(find("quarantine"), {}),
            "topic": "t", "topic_id": "i", "state_digest": "s", "result_digest": "r", "state": State.STAGED,
            "desired": Desired.RUNNING, "starts_at": datetime(2026, 1, 1, tzinfo=UTC), "start_offsets": {0: 0},
        }  # fmt: skip
        return submission(self.settings, Version(**version), uuid4())

    def becomes(self, name: str, state: DriverState) -> bool:
        return until(lambda: self.cluster.status(name) is state, PATIENCE)


@pytest.fixture(scope="module", params=["fake", pytest.param("standalone", marks=pytest.mark.rig)])
def trial(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    if request.param == "fake":
        registry = FakeRegistry(FakeClock())
        yield Trial(FakeCluster(registry), Settings(tmp_path_factory.mktemp("state")))
        return
    with small_cluster() as layout:
        settings = layout.settings
        program = settings.artifacts / "stays" / "jobs" / "run.py"
        program.parent.mkdir(parents=True)
        program.write_text(DRIVER)
        yield Trial(StandaloneCluster(settings.spark_rest, settings.spark_ui, settings.spark_key), settings)


def test_a_submission_that_the_cluster_never_had_is_gone_and_may_be_killed(trial: Trial) -> None:
    for _ in range(2):
        assert trial.cluster.status("driver-20260101000000-0099") is DriverState.GONE
        trial.cluster.kill("driver-20260101000000-0099")


def has_what_it_was_given(trial: Trial) -> bool:
    """Whether the one host of an embedded stack has what its settings say, whatever of it is free."""
    (host,), given = trial.cluster.capacity().hosts, trial.settings.cluster
    is_free = 0 <= host.free_cores <= host.cores and 0 <= host.free_memory_mb <= host.memory_mb
    return is_free and (host.cores, host.memory_mb) == (given.worker_cores, given.worker_memory_mb)


def test_a_driver_runs_until_it_is_killed_and_then_for_good(trial: Trial) -> None:
    free = trial.cluster.capacity().free_cores
    names = [trial.cluster.submit(trial.driver()) for _ in range(2)]
    assert len(set(names)) == 2, "each submission is another driver, whatever it carries"
    assert all(trial.cluster.status(name) in ALIVE for name in names)
    assert all(trial.becomes(name, DriverState.RUNNING) for name in names)
    assert 0 <= trial.cluster.capacity().free_cores <= free
    assert has_what_it_was_given(trial)
    trial.cluster.kill(names[0])
    assert trial.becomes(names[0], DriverState.KILLED)
    assert trial.cluster.status(names[1]) is DriverState.RUNNING, "the other one was not meant"
    for _ in range(2):
        trial.cluster.kill(names[1])
    assert trial.becomes(names[1], DriverState.KILLED)
    assert [trial.cluster.status(name) for name in names] == [DriverState.KILLED] * 2


def test_a_cluster_that_does_not_answer_is_told_apart_from_one_that_knows_nothing(tmp_path: Path) -> None:
    """Else an outage would look like a driver that is gone."""
    key = tmp_path / "key"
    key.write_text("A" * 43)
    away = StandaloneCluster("http://127.0.0.1:1", "http://127.0.0.1:1", key)
    for ask in (lambda: away.status("driver-1"), lambda: away.kill("driver-1"), away.capacity):
        with pytest.raises(Unreachable):
            ask()
