"""Each dangerous change, built as the bench builds it, is refused by the plan with its table; the allowed one is not.

With `-s` the words are printed: what the bench shows on a running stack, from the same code.
"""

from __future__ import annotations

import pytest

from kappa.core.audit import Author
from kappa.core.requests.lifecycle import DeployRequest
from kappa.verbs.deploy import steps as deploy
from kappa.verbs.deploy.observation import plan_deploy
from kappa.verbs.deploy.plan import Action, DeployPlan, DeployRefused, refuse_if_refused
from tests.plugins.conftest import Stage, author, checkout, stage
from tests.rigs import patches
from tests.rigs.dangers import ALLOWED, DANGERS
from tests.rigs.patches import Patch

__all__ = ["author", "checkout", "stage"]
NAMED = {
    "what arrived, swapped": "what is counted of the set (jobs/transforms/fold.py: count)",
    "key replaced by one of the same type": "keys",
    "window of 5 minutes": "window",
    "element of the set: the slot instead of the user": "element of the set (jobs/transforms/windows.py: element)",
    "expression: a click counts twice": "how the set is added up (jobs/transforms/fold.py: _totals)",
    "expression: the cost is doubled as it is decoded": "jobs/transforms/decode.py: _fields",
    "limit: a record as old as is allowed is late": "fates (jobs/transforms/fates.py: fates_of)",
}
"""What the table names of each danger."""


@pytest.fixture
def live(stage: Stage, author: Author) -> Stage:
    """The first version of ad_ctr serves, from the project's own jobs folder."""
    stage.take_own_code()
    first = plan_deploy(stage.platform, DeployRequest("ad_ctr", artifact=stage.build()))
    deploy.carry_out(stage.platform, first, author, lambda _: None)
    return stage


def planned(live: Stage, patch: Patch) -> DeployPlan:
    """The plan of deploying the artifact that the patched copy builds."""
    artifact = patches.build(live.platform.settings, patch)
    return plan_deploy(live.platform, DeployRequest("ad_ctr", artifact=artifact))


@pytest.mark.timeout(240)
def test_a_danger_is_refused_with_its_table_and_the_command_that_replays(live: Stage) -> None:
    for danger in DANGERS:
        plan = planned(live, danger)
        assert plan.action is Action.REFUSED, danger.what
        with pytest.raises(DeployRefused) as refused:
            refuse_if_refused(plan)
        print(f"\n{danger.what}\n{refused.value}")
        assert NAMED[danger.what] in [difference.what for difference in plan.differences]
        assert f"./kappa reprocess ad_ctr --from earliest --artifact {plan.wanted.artifact}." in str(refused.value)


def test_the_allowed_change_is_made_in_place(live: Stage) -> None:
    assert planned(live, ALLOWED).action is Action.IN_PLACE
