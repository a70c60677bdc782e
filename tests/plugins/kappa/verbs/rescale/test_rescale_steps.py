"""What a rescale looks at: the checkpoint's own words, and whether the version's code can move its state."""

from __future__ import annotations

import json

import pytest

from kappa.core.audit import Author
from kappa.core.requests.lifecycle import DeployRequest, RescaleRequest
from kappa.verbs.deploy import steps as deploy
from kappa.verbs.deploy.observation import plan_deploy
from kappa.verbs.rescale import steps as rescale
from kappa.verbs.rescale.plan import Action, RescalePlan
from kappa.verbs.rescale.steps import OldArtifact
from tests.plugins.conftest import Stage
from tests.plugins.kappa.verbs.rescale.test_rescale_plan import planned
from tests.rigs.checkpoint_folders import folder_of

JOB = "ad_ctr"
PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def deployed(stage: Stage, by: Author) -> None:
    """A live version with a checkpoint of one batch in two partitions."""
    deploy.carry_out(stage.platform, plan_deploy(stage.platform, DeployRequest(JOB)), by, lambda _: None)
    folder = folder_of(stage.platform.settings.checkpoints(JOB, 1) / "g1")
    conf = {"spark.sql.streaming.stateStore.providerClass": PROVIDER, "spark.sql.shuffle.partitions": "2"}
    operator = {
        "operatorInfo": {"operatorId": 0, "operatorName": "stateStoreSave"},
        "stateStoreInfo": [{"storeName": "default"}],
    }
    files = {
        "offsets/0": f"v1\n{json.dumps({'batchWatermarkMs': 0, 'conf': conf})}\n{{}}\n",
        "commits/0": "v1\n{}\n",
        "state/0/_metadata/metadata": f"v1\n{json.dumps(operator)}\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_code_that_cannot_move_its_state_is_not_asked_to(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    with pytest.raises(OldArtifact, match=r"built before state could be moved.*./kappa deploy ad_ctr"):
        rescale.plan_rescale(stage.platform, RescaleRequest(JOB, 4))


def test_the_plan_shows_what_lies_in_the_checkpoint(stage: Stage, author: Author) -> None:
    (stage.checkout / "jobs" / "repartition.py").write_text("PROGRAM = 1\n")
    stage.clock.sleep(1)
    stage.build()
    deployed(stage, author)
    plan = rescale.plan_rescale(stage.platform, RescaleRequest(JOB, 4))
    assert plan.state is not None
    assert (plan.action, plan.state.partitions, plan.state.operators) == (Action.REPARTITION, 2, ("stateStoreSave",))
    assert (plan.old.generation, plan.new.generation) == (1, 2)


@pytest.mark.parametrize(
    ("plan", "would"),
    [
        (planned(partitions=2), "stay as it is, for it has this size already; "),
        (planned(cores=3), "be restarted, its state as it is (begin -> standby -> "),
        (
            planned(partitions=4),
            "be restarted, its state in other partitions (begin -> standby -> hold -> repartition ",
        ),
    ],
)
def test_a_dry_run_says_what_would_become_of_the_version(plan: RescalePlan, would: str) -> None:
    sentence = rescale.dry_sentence(plan)
    assert sentence.startswith(f"dry run: ad_ctr v1 would {would}")
    assert sentence.endswith("; nothing was changed.")
