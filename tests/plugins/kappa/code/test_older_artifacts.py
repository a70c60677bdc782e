"""An artifact of an earlier commit, a221cc5: read as it is, run on as it is; other code beside it is a replay."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kappa.code import artifacts, digests
from kappa.core import artifact_files, environment
from kappa.core.audit import Author
from kappa.core.job_catalog import JOBS, resolve
from kappa.core.requests.lifecycle import DeployRequest
from kappa.core.requests.reprocessing import ReprocessRequest
from kappa.core.validation import Parity
from kappa.core.versions import Desired, State, Version
from kappa.verbs.deploy import steps as deploy
from kappa.verbs.deploy.observation import plan_deploy, plan_start
from kappa.verbs.deploy.plan import Action, DeployPlan, DeployRefused, refuse_if_refused
from kappa.verbs.replay.observation import plan_reprocess
from tests.plugins.conftest import Stage
from tests.plugins.fakes import TOPIC

OLD = Path(__file__).parent / "manifest-a221cc5.json"
"""What that commit's own `kappa build` wrote."""
DIGESTS = {
    "ad_ctr": ("262c5e1c10d18e4e", "978c360ffd63c14c"),
    "client_spend": ("d862a0c56f3196fe", "db0b36449832a075"),
    "quarantine": ("cbbeecd38f40ec8f", "13f8ee6663e130fe"),
}
"""State and result digest that it gave its versions, of default settings and the topic `topic-one`."""


@pytest.fixture
def old(stage: Stage, author: Author) -> str:
    """The digest of that artifact, from which both jobs' live versions run; the newest one is of the present code."""
    digest = str(json.loads(OLD.read_text())["digest"])
    folder = stage.platform.settings.artifacts
    shutil.rmtree(folder)
    (folder / digest).mkdir(parents=True)
    shutil.copyfile(OLD, folder / digest / "manifest.json")
    for job, (state, result) in DIGESTS.items():
        settings = resolve(JOBS[job], {})
        version = Version(
            job, 1, State.STAGED, Desired.RUNNING, digest, state, result, settings, TOPIC.name, TOPIC.topic_id,
            None, {0: 0, 1: 0},
        )  # fmt: skip
        stage.registry.stage(version, author, {})
        stage.registry.go_live(job, 1, author)
    stage.take_own_code()
    artifacts.build(stage.checkout, folder, stage.clock.now().replace(year=2027))
    return digest


def test_its_manifest_is_read_and_says_nothing_of_packages(stage: Stage, old: str) -> None:
    artifact = artifacts.find(stage.platform.settings.artifacts, old)
    assert artifact.environment == {}
    for job, expected in DIGESTS.items():
        code, topic = artifact.code(job), TOPIC.topic_id
        result = digests.result_digest(code.result_code, JOBS[job], resolve(JOBS[job], {}))
        assert (digests.state_digest(code.state_shape, topic), result) == expected


@pytest.mark.parametrize("job", list(DIGESTS))
def test_todays_code_beside_it_is_refused_by_name_and_called_a_replay(stage: Stage, old: str, job: str) -> None:
    plan = plan_deploy(stage.platform, DeployRequest(job))
    assert plan.action is Action.REFUSED
    named = {d.what: (d.old, d.new) for d in plan.differences}
    for package, version in environment.present().items():
        assert named[f"environment: {package}"] == ("unknown", version)
    assert named["jobs/sources.py: stream"][0] == "none"
    with pytest.raises(DeployRefused, match=rf"./kappa reprocess {job} --from earliest --artifact \w+"):
        refuse_if_refused(plan)


@pytest.mark.usefixtures("old")
def test_a_replay_with_todays_code_is_planned_beside_it(stage: Stage) -> None:
    plan = plan_reprocess(stage.platform, ReprocessRequest(("ad_ctr", "client_spend"), parity=Parity.REPORT))
    assert {c.job: c.version for c in plan.candidates} == {"ad_ctr": 2, "client_spend": 2}


def test_what_was_built_before_goes_on_and_the_plan_says_that_its_packages_are_unknown(
    stage: Stage, author: Author
) -> None:
    digest = _without_environment(stage)
    deploy.carry_out(stage.platform, plan_deploy(stage.platform, DeployRequest("ad_ctr")), author, lambda _: None)
    assert stage.registry.held["ad_ctr", 1].artifact == digest
    stage.registry.desire("ad_ctr", 1, Desired.STOPPED)
    stage.clock.sleep(10)
    plan = plan_start(stage.platform, "ad_ctr")
    assert plan.action is Action.RESUME
    assert dict(plan.rows())["environment"].startswith("unknown: the artifact was built before artifacts named it")
    assert DeployPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    environment.check(stage.platform.settings.artifacts / digest)


def test_a_plan_says_what_its_artifact_was_built_with(stage: Stage) -> None:
    plan = plan_deploy(stage.platform, DeployRequest("ad_ctr"))
    said = dict(plan.rows())["environment"]
    assert said == ", ".join(f"{name} {version}" for name, version in environment.present().items())
    older = replace(plan, environment={})
    held = plan.to_json()
    del held["environment"]
    assert DeployPlan.from_json(held) == older, "a plan that an earlier release wrote"


def _without_environment(stage: Stage) -> str:
    """Have the stage's one artifact be named and written as that commit did."""
    (folder,) = stage.platform.settings.artifacts.iterdir()
    digest = artifact_files.tree_digest(folder, artifact_files.sources(folder))
    held = {**json.loads((folder / "manifest.json").read_text()), "digest": digest}
    del held["environment"]
    (folder / "manifest.json").chmod(0o644)
    (folder / "manifest.json").write_text(json.dumps(held))
    folder.rename(folder.with_name(digest))
    return digest
