"""The next driver of a version stands by, takes over, or goes with its change; without it the start is as before."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kappa.core.audit import Author
from kappa.verbs.change import steps
from kappa.verbs.change.recovery import settle
from kappa.verbs.drivers import standby
from tests.plugins.change_runs import JOB, deployed, now, repartition, run_all, tuned, wider
from tests.plugins.conftest import Stage

OTHER = Author("other", "run-2")


@pytest.mark.parametrize("repartitions", [False, True])
def test_the_driver_that_stood_by_is_the_one_that_runs(stage: Stage, author: Author, repartitions: bool) -> None:
    old = deployed(stage, author)
    repartition(stage)
    run_all(stage.platform, old, wider(old) if repartitions else tuned(stage, old), OTHER)
    (driver,) = stage.cluster.running()
    assert "--standby" in stage.cluster.submissions[driver][0].arguments
    assert len(stage.cluster.submissions) == 2


def test_nothing_stands_by_where_the_cluster_has_no_cores_for_it(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    new, stage.cluster.free = tuned(stage, old), 0
    run_all(stage.platform, old, new, OTHER)
    (driver,) = stage.cluster.running()
    assert "--standby" not in stage.cluster.submissions[driver][0].arguments
    (entry,) = [entry for entry in stage.registry.entries(OTHER.run_id) if entry.action == "deploy.standby"]
    assert entry.evidence["sentence"].endswith("2 cores of the cluster, which has 0 for it")


@pytest.mark.parametrize(("lag", "idle", "why"), [((500, 61.0), 61, "nothing for 61 s, so there is no pause"),
                                                  ((500, 61.0), 59, None), ((0, 0.0), 61, None),
                                                  ((500, 59.0), 61, None)])  # fmt: skip
def test_nothing_stands_by_beside_a_stream_that_stands_still(
    stage: Stage, author: Author, lag: tuple[int, float], idle: int, why: str | None
) -> None:
    old = deployed(stage, author)
    change = steps.begin(stage.platform, "deploy", JOB, 1, old, tuned(stage, old), OTHER)
    stage.registry.lags[JOB, 1] = lag
    beat = stage.registry.beats[JOB, 1]
    stage.registry.beats[JOB, 1] = replace(beat, committed_at=stage.clock.now() - timedelta(seconds=idle))
    sentence = standby.prepare(stage.platform, change, OTHER)
    assert (why in sentence) if why else (sentence == f"the next driver of {JOB} v1 stands by")


def test_an_artifact_without_standing_by_starts_after_the_stop(stage: Stage, author: Author) -> None:
    (stage.checkout / "jobs" / "standby.py").unlink()
    old = deployed(stage, author)
    run_all(stage.platform, old, tuned(stage, old), OTHER)
    (driver,) = stage.cluster.running()
    assert "--standby" not in stage.cluster.submissions[driver][0].arguments


def test_a_driver_that_never_gets_warm_is_ended_and_another_one_started(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    new = tuned(stage, old)
    stage.cluster.slow = timedelta(seconds=10**6)
    change = steps.begin(stage.platform, "deploy", JOB, 1, old, new, OTHER)
    standby.prepare(stage.platform, change, OTHER)
    stage.cluster.slow = timedelta(seconds=5)
    steps.hold(stage.platform, change, OTHER)
    steps.switch(stage.platform, change)
    steps.launch(stage.platform, change, OTHER)
    steps.ready(stage.platform, change, OTHER)
    steps.conclude(stage.platform, change, OTHER)
    assert now(stage) == new


def test_a_driver_that_stands_by_goes_with_its_change(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    change = steps.begin(stage.platform, "deploy", JOB, 1, old, tuned(stage, old), OTHER)
    standby.prepare(stage.platform, change, OTHER)
    stage.clock.sleep(10)
    assert len(stage.cluster.running()) == 2
    settle(stage.platform, change, OTHER)
    stage.clock.sleep(10)
    assert now(stage) == old
