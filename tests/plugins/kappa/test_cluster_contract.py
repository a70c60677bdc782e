"""What the port to the cluster promises, asked of the fake and of a real master and worker alike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import UUID, uuid4

import pytest

from kappa.cluster import ALIVE, Capacity, Cluster, DriverState, Host, Submission
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import find, resolve
from kappa.core.versions import Desired, State, Version
from kappa.standalone_cluster import Master, StandaloneCluster
from kappa.unavailable import Unreachable
from kappa.verbs.drivers.submission import submission
from stack.waiting import until
from tests.plugins.fakes import FakeClock, FakeCluster, FakeRegistry
from tests.plugins.stages import put_checkpoint_jar

PATIENCE = 100
AWAY = Master("http://127.0.0.1:1", "http://127.0.0.1:1")
# It only stays: the cluster knows drivers by their process, whatever they do.
DRIVER = """
import os, time
parent = os.getppid()
while os.getppid() == parent:
    time.sleep(0.2)
os._exit(0)
"""


@dataclass(frozen=True)
class Started:
    """The driver of a launch, and what the cluster calls it."""

    cluster: Cluster
    launch_id: UUID
    names: tuple[str, ...]

    @property
    def state(self) -> DriverState:
        return self.cluster.state(self.launch_id, self.names)

    def becomes(self, state: DriverState) -> bool:
        return until(lambda: self.state is state, PATIENCE)

    def kill(self) -> None:
        self.cluster.kill(self.launch_id, self.names)


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

    def start(self) -> Started:
        driver = self.driver()
        return Started(self.cluster, driver.launch_id, (self.cluster.submit(driver),))


@pytest.fixture(scope="module", params=["fake", pytest.param("standalone", marks=pytest.mark.rig)])
def trial(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    if request.param == "fake":
        registry = FakeRegistry(FakeClock())
        settings = Settings(tmp_path_factory.mktemp("state"))
        put_checkpoint_jar(settings)
        yield Trial(FakeCluster(registry), settings)
        return
    settings = request.getfixturevalue("lone_cluster").settings
    program = settings.artifacts / "stays" / "jobs" / "run.py"
    program.parent.mkdir(parents=True)
    program.write_text(DRIVER)
    master = Master(settings.spark_rest[0], settings.spark_ui[0])
    yield Trial(StandaloneCluster([master], settings.spark_key), settings)


def test_a_launch_that_the_cluster_never_had_is_gone_and_may_be_killed(trial: Trial) -> None:
    for names in ((), ("driver-20260101000000-0099",)):
        never = Started(trial.cluster, uuid4(), names)
        assert never.state is DriverState.GONE
        never.kill()


def has_what_it_was_given(trial: Trial) -> bool:
    """Whether the one host of an embedded stack has what its settings say, whatever of it is free."""
    (host,), given = trial.cluster.capacity().hosts, trial.settings.cluster
    is_free = 0 <= host.free_cores <= host.cores and 0 <= host.free_memory_mb <= host.memory_mb
    return is_free and (host.cores, host.memory_mb) == (given.worker_cores, given.worker_memory_mb)


def test_a_driver_runs_until_it_is_killed_and_then_for_good(trial: Trial) -> None:
    free = trial.cluster.capacity().free_cores
    one, other = trial.start(), trial.start()
    assert one.names != other.names, "each submission is another driver, whatever it carries"
    assert all(started.state in ALIVE for started in (one, other))
    assert all(started.becomes(DriverState.RUNNING) for started in (one, other))
    assert 0 <= trial.cluster.capacity().free_cores <= free
    assert has_what_it_was_given(trial)
    one.kill()
    assert one.becomes(DriverState.KILLED)
    assert other.state is DriverState.RUNNING, "the other one was not meant"
    for _ in range(2):
        other.kill()
    assert other.becomes(DriverState.KILLED)
    assert [started.state for started in (one, other)] == [DriverState.KILLED] * 2


def test_of_a_driver_with_two_names_the_newer_one_counts_and_a_kill_ends_both(trial: Trial) -> None:
    """A request that was repeated starts two, of which one claims the launch; the registry knows both."""
    one, other = trial.start(), trial.start()
    both = Started(trial.cluster, one.launch_id, (*other.names, *one.names))
    one.kill()
    assert one.becomes(DriverState.KILLED)
    assert both.becomes(DriverState.RUNNING)
    both.kill()
    assert all(started.becomes(DriverState.KILLED) for started in (one, other))


@pytest.mark.parametrize("masters", [[AWAY], [AWAY, AWAY]], ids=["one master", "two"])
def test_a_cluster_that_does_not_answer_is_told_apart_from_one_that_knows_nothing(
    masters: list[Master], tmp_path: Path
) -> None:
    """Else an outage would look like a driver that is gone."""
    key = tmp_path / "key"
    key.write_text("A" * 43)
    driver = Started(StandaloneCluster(masters, key), uuid4(), ("driver-1",))
    for ask in (lambda: driver.state, driver.kill, driver.cluster.capacity):
        with pytest.raises(Unreachable):
            ask()


class Page(BaseHTTPRequestHandler):
    """The page of a master, and its submission server, which knows one driver; `path` begins with what the master is.
    One that stands by knows of no driver, and has no workers."""

    def do_GET(self) -> None:
        role, _, path = self.path.removeprefix("/").partition("/")
        leads = role == "ALIVE"
        worker = {"state": "ALIVE", "cores": 3, "coresfree": 1, "memory": 4, "memoryfree": 2}
        page = {"status": role, "workers": [worker] if leads else []}
        told = page if path == "json/" else {"driverState": "RUNNING"} if leads else {"success": False}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(told).encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def pages() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_of_several_masters_the_one_that_leads_is_asked(pages: str, tmp_path: Path) -> None:
    """One that stands by answers, too: that it knows no driver, as if all were gone."""
    key = tmp_path / "key"
    key.write_text("A" * 43)
    stands_by, leads = (Master(f"{pages}/{role}", f"{pages}/{role}") for role in ("STANDBY", "ALIVE"))
    cluster = StandaloneCluster([AWAY, stands_by, leads], key)
    assert cluster.state(uuid4(), ["driver-1"]) is DriverState.RUNNING
    assert cluster.capacity() == Capacity((Host(3, 1, 4, 2),))
    with pytest.raises(Unreachable, match="none of them leads"):
        StandaloneCluster([AWAY, stands_by], key).capacity()
