"""On several hosts, secured, with checkpoints in a bucket: jobs are rescaled and replayed under hostile traffic."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from kappa.core.store.s3 import Bucket
from stack.waiting import until
from tests.rigs.lab import services
from tests.rigs.lab.losses import Watch, traffic
from tests.rigs.lab.services import Installed

pytestmark = pytest.mark.long(minutes=20)
JOBS = ("ad_ctr", "client_spend")
ON_TWO_HOSTS = {
    "executors": 2, "executor_cores": 1, "executor_memory_mb": 512, "state_partitions": 2,
    "allowed_lateness_ms": 120_000,
}  # fmt: skip
"""With so little lateness windows are final soon, and a replay has something to be compared by."""
CORES = 8
"""Of each host: two jobs with a driver and two executors each, and the same again beside them while they change."""
PATIENCE_SECONDS = 1_500.0
"""A rescale or a replay on busy cores."""


@pytest.fixture(scope="module")
def deployed() -> Iterator[Installed]:
    """Both jobs with an executor on each of two hosts, their state in a bucket."""
    with services.installation(CORES, bucket=True) as made:
        made.ask("produce", "1", "2000")
        for job in JOBS:
            assert "is deployed" in made.ask("deploy", job, json.dumps(ON_TWO_HOSTS), seconds=PATIENCE_SECONDS)
        yield made


def test_jobs_whose_state_lies_in_a_bucket_are_rescaled_replayed_promoted_and_rolled_back_and_exact(
    deployed: Installed,
) -> None:
    assert isinstance(deployed.settings.store.store, Bucket)
    assert {f"{job}/v1/g1" for job in JOBS} <= folders(deployed), "the checkpoints lie there"
    with traffic(deployed, seed=2) as sent:
        for job in JOBS:
            for given in ({"partitions": 4}, {"executors": 1}, {"executors": 2}):
                print(deployed.ask("rescale", job, json.dumps(given), seconds=PATIENCE_SECONDS))
    check(deployed, {"ad_ctr": 1, "client_spend": 1})
    with traffic(deployed, seed=3) as more:
        print(deployed.ask("reprocess", *JOBS, seconds=PATIENCE_SECONDS))
    check(deployed, {"ad_ctr": 2, "client_spend": 2})
    with traffic(deployed, seed=4) as most:
        print(deployed.ask("rollback", *JOBS, seconds=PATIENCE_SECONDS))
    check(deployed, {"ad_ctr": 1, "client_spend": 1})
    print(f"{2_000 + sent() + more() + most()} records")


def folders(installed: Installed) -> set[str]:
    """The checkpoints in the bucket, as JOB/VERSION/GENERATION."""
    place = installed.lab.folder / "s3" / "data" / "state" / "lab" / "checkpoints"
    return {str(found.relative_to(place)) for found in place.glob("*/v*/g*")}


def check(installed: Installed, serving: dict[str, int]) -> None:
    """These versions serve, they have read the log, and serve what it says."""
    assert json.loads(installed.ask("serving")) == serving
    watches = [Watch(installed, job) for job in serving]
    assert until(lambda: all(watch.unread() == 0 for watch in watches), PATIENCE_SECONDS, 2.0), "the log was not read"
    assert json.loads(installed.ask("differences")) == []
