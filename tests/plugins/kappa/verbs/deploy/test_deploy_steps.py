"""A deployment's last steps: a driver that stands by is started where the settings ask for one."""

from __future__ import annotations

from dataclasses import replace

from kappa.core.audit import Author
from kappa.core.requests.lifecycle import DeployRequest
from kappa.verbs.deploy import steps
from kappa.verbs.deploy.observation import plan_deploy
from kappa.verbs.stop import steps as stop
from tests.plugins.conftest import Stage

JOB = "ad_ctr"


def test_a_version_has_one_that_stands_by_from_its_start_however_much_there_is_to_read(
    stage: Stage, author: Author
) -> None:
    settings = stage.platform.settings
    asked = replace(settings, supervision=replace(settings.supervision, warm_standby=True))
    stage.take_own_code()
    request = DeployRequest(JOB, artifact=stage.build())
    steps.carry_out(stage.platform, plan_deploy(stage.platform, request), author, lambda _: None)
    stop.stop(stage.platform, stop.plan_stop(stage.platform, JOB), author)
    assert not stage.cluster.running()
    stage.platform, stage.cluster.stands_by = replace(stage.platform, settings=asked), True
    stage.registry.lags[JOB, 1] = (900_000, 3_600.0)
    steps.carry_out(stage.platform, plan_deploy(stage.platform, request), author, lambda _: None)
    assert len(stage.cluster.running()) == 2
