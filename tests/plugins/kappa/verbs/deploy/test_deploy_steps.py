"""A deployment's last steps: a driver that stands by is started where the new one has the time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kappa.core.audit import Author
from kappa.core.requests.lifecycle import DeployRequest
from kappa.verbs.deploy import steps
from kappa.verbs.deploy.observation import plan_deploy
from kappa.verbs.repair import steps as repair
from kappa.verbs.stop import steps as stop
from tests.plugins.conftest import Stage

JOB = "ad_ctr"
SWEEP = Author("airflow", "sweep-1")


@pytest.mark.parametrize(("behind", "drivers"), [(30.0, 2), (31.0, 1)])
def test_a_version_that_has_a_log_to_read_first_is_alone_until_it_has_caught_up(
    stage: Stage, author: Author, behind: float, drivers: int
) -> None:
    settings = stage.platform.settings
    asked = replace(settings, supervision=replace(settings.supervision, warm_standby=True))
    stage.take_own_code()
    request = DeployRequest(JOB, artifact=stage.build())
    steps.carry_out(stage.platform, plan_deploy(stage.platform, request), author, lambda _: None)
    stop.stop(stage.platform, stop.plan_stop(stage.platform, JOB), author)
    stage.platform, stage.cluster.stands_by = replace(stage.platform, settings=asked), True
    stage.registry.lags[JOB, 1] = (900, behind)
    steps.carry_out(stage.platform, plan_deploy(stage.platform, request), author, lambda _: None)
    assert len(stage.cluster.running()) == drivers
    stage.registry.lags[JOB, 1] = (0, 0.0)
    repair.carry_out(stage.platform, repair.plan_repair(stage.platform, JOB), SWEEP)
    stage.clock.sleep(10)
    assert len(stage.cluster.running()) == 2
