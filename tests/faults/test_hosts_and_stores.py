"""On several hosts, secured, with checkpoints in a shared folder, a bucket or HDFS: Airflow rescales jobs and replays
them under hostile traffic, promotes and rolls back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from kappa.core.store.folder import Folder
from kappa.core.store.hdfs import Hdfs
from kappa.core.store.s3 import Bucket
from stack.waiting import until
from tests.rigs.lab import services
from tests.rigs.lab.airflow import LabAirflow, start
from tests.rigs.lab.losses import Watch, traffic
from tests.rigs.lab.parts import CLIENT, Keeper
from tests.rigs.lab.services import Installed
from tests.rigs.lab.told import told_by_connections

pytestmark = pytest.mark.long(minutes=20)
JOBS = ("ad_ctr", "client_spend")
ON_TWO_HOSTS = {
    "executors": 2, "executor_cores": 1, "executor_memory_mb": 512, "state_partitions": 2,
    "allowed_lateness_ms": 120_000, "cadence_ms": 10_000,
}  # fmt: skip
"""With so little lateness windows are final soon, and a replay has something to be compared by. Batches begin seldom,
so that two cores have time for the drivers and executors that start beside."""
RATE = 200
"""Records a second: of each, brokers of one machine make three copies, by TLS."""
GIVEN = [word for name, value in ON_TWO_HOSTS.items() for word in ("--set", f"{name}={value}")]
STORES = {Keeper.FOLDER: Folder, Keeper.BUCKET: Bucket, Keeper.HDFS: Hdfs}
CORES = 8
"""Of each host: two jobs with a driver and two executors each, and the same again beside them while they change."""
PATIENCE_SECONDS = 3_000.0
"""A rescale or a replay on busy cores."""


@dataclass(frozen=True)
class Operated:
    """An installation, and the Airflow by which it is operated."""

    installed: Installed
    airflow: LabAirflow

    def kappa(self, *words: str) -> None:
        """A verb of its operator, to its end."""
        print(self.airflow.kappa(*words, "--reason", "test", seconds=PATIENCE_SECONDS))


@pytest.fixture
def rate(request: pytest.FixtureRequest) -> int:
    """Records a second while jobs are rescaled."""
    return int(request.config.getoption("--lab-rate") or RATE)


@pytest.fixture(scope="module", params=list(Keeper))
def operated(request: pytest.FixtureRequest) -> Iterator[Operated]:
    """Both jobs with an executor on each of two hosts. Where the store is another, the host of Airflow and of its
    operator does not see the shared folder once the code is built."""
    with services.installation(CORES, request.param) as installed:
        assert isinstance(installed.settings.store.store, STORES[request.param])
        made = Operated(installed, start(installed.lab, CLIENT, told_by_connections(installed)))
        made.airflow.kappa("build")
        if request.param is not Keeper.FOLDER:
            installed.lab.hide(CLIENT, installed.settings.shared)
        installed.ask("produce", "1", "2000")
        made.kappa("deploy", *JOBS, *GIVEN)
        yield made


def test_jobs_are_rescaled_on_the_cluster_and_exact(operated: Operated, rate: int) -> None:
    installed = operated.installed
    assert [json.loads(installed.ask("generations", job, "1")) for job in JOBS] == [["g1"], ["g1"]]
    with traffic(installed, 2, rate):
        for job in JOBS:
            for given in (("--partitions", "4"), ("--executors", "1"), ("--executors", "2")):
                operated.kappa("rescale", job, *given)
    check(installed, {"ad_ctr": 1, "client_spend": 1})
    for job in JOBS:
        newest = json.loads(installed.ask("generations", job, "1"))[-1]
        assert newest.startswith("g2-"), f"a generation for the other partitions, not {newest}"
    ran = json.loads(installed.ask("programs"))
    assert [ok for _, _, ok in ran] == [True] * len(JOBS)
    assert all(name.startswith("driver-") for _, name, _ in ran), f"on the cluster: {ran}"


def test_jobs_are_replayed_promoted_and_rolled_back_and_exact(operated: Operated) -> None:
    installed, airflow = operated.installed, operated.airflow
    with traffic(installed, 3, RATE), ThreadPoolExecutor(1) as pool:
        replay = pool.submit(operated.kappa, "reprocess", *JOBS, "--approve", "ask")
        airflow.say_yes("approver", airflow.replay(PATIENCE_SECONDS), PATIENCE_SECONDS)
        replay.result(PATIENCE_SECONDS)
    check(installed, {"ad_ctr": 2, "client_spend": 2})
    with traffic(installed, 4, RATE):
        operated.kappa("rollback", *JOBS)
    check(installed, {"ad_ctr": 1, "client_spend": 1})


def check(installed: Installed, serving: dict[str, int]) -> None:
    """These versions serve, they have read the log, and serve what it says."""
    assert json.loads(installed.ask("serving")) == serving
    watches = [Watch(installed, job) for job in serving]
    assert until(lambda: all(watch.unread() == 0 for watch in watches), PATIENCE_SECONDS, 2.0), "the log was not read"
    assert json.loads(installed.ask("differences", seconds=PATIENCE_SECONDS)) == []
