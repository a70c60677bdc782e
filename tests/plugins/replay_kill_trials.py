"""Trials of replays, promotions, roll-backs and retirements that are killed at some moment and run again: one end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kappa.core.audit import Author
from kappa.core.replays import Answer
from kappa.core.versions import State
from kappa.verbs.promote import steps as promote
from kappa.verbs.replay import steps as reprocess
from kappa.verbs.retire import steps as retire
from kappa.verbs.stop.steps import end_driver
from tests.plugins.kills import Death
from tests.plugins.replay_runs import JOBS, deployed, move, run_all, serving
from tests.plugins.stages import AnyStage
from tests.rigs.checkpoint_folders import folder_of

FIRST = Author("tester", "run-1", "because")
OTHER, THIRD, SWEEP = (Author(f"user-{n}", f"run-{n}", "why") for n in (2, 3, 4))
OLD, NEW = dict.fromkeys(JOBS, 1), dict.fromkeys(JOBS, 2)


def states(stage: AnyStage, number: int) -> list[State]:
    """The states of one version of each job."""
    return [v.state for job in JOBS for v in stage.platform.registry.versions(job) if v.version == number]


def replay(stage: AnyStage, death: Death) -> None:
    """A replay that is promoted."""
    deployed(stage, FIRST)
    with death.process(stage.platform) as mortal:
        run_all(mortal, OTHER)
    assert serving(stage) in (OLD, NEW), "never one job without the other"
    done = run_all(stage.platform, OTHER)
    assert serving(stage) == done.promoted == NEW
    assert len(stage.platform.releases.releases()) == 3, "two first deployments and one release"
    assert len(stage.cluster.running()) == 4
    assert stage.platform.releases.open_replays() == []


def proof(stage: AnyStage, death: Death) -> None:
    """A replay that only compares."""
    deployed(stage, FIRST)
    with death.process(stage.platform) as mortal:
        run_all(mortal, OTHER, reprocess.PROVE, promote=False)
    done = run_all(stage.platform, OTHER, reprocess.PROVE, promote=False)
    assert done.sentence.startswith("live equals replay over 2 records: ad_ctr v2, client_spend v2")
    assert serving(stage) == OLD
    assert states(stage, 2) == [State.RETIRED] * 2
    assert len(stage.cluster.running()) == 2


def promotion(stage: AnyStage, death: Death) -> None:
    """A promotion by hand of what nobody answered for in time."""
    deployed(stage, FIRST)
    run_all(stage.platform, OTHER, answer=Answer.TIMED_OUT)
    plan = promote.plan_promote(stage.platform, JOBS, THIRD)
    moved(stage, death, promote.PROMOTE, plan)
    assert serving(stage) == NEW
    assert len(stage.platform.releases.releases()) == 3
    assert len(stage.cluster.running()) == 4


def moved(stage: AnyStage, death: Death, verb: str, plan: promote.MovePlan) -> None:
    """Killed and made again, the move has both jobs serve one side's versions at any time."""
    with death.process(stage.platform) as mortal:
        move(mortal, verb, plan, THIRD)
    assert serving(stage) in (OLD, NEW)
    move(stage.platform, verb, plan, THIRD)


def rollback(stage: AnyStage, death: Death, stopped: bool) -> None:
    """A roll-back to versions that run still, or of which one was stopped."""
    deployed(stage, FIRST)
    run_all(stage.platform, OTHER)
    if stopped:
        end_driver(stage.platform, "ad_ctr", 1, FIRST)
    plan = promote.plan_rollback(stage.platform, JOBS)
    moved(stage, death, promote.ROLLBACK, plan)
    assert serving(stage) == OLD
    assert len(stage.platform.releases.releases()) == 4
    assert len(stage.cluster.running()) == 4


def retirement(stage: AnyStage, death: Death) -> None:
    """A sweep that retires what was replaced more than a day ago."""
    _replaced(stage)
    with death.process(stage.platform) as mortal:
        retire.carry_out(mortal, retire.plan_retire(mortal, SWEEP), SWEEP)
    retire.carry_out(stage.platform, retire.plan_retire(stage.platform, SWEEP), SWEEP)
    assert states(stage, 1) == [State.RETIRED] * 2
    assert stage.platform.releases.unfreed() == set()
    assert not list((stage.platform.settings.home / "checkpoints").glob("*/v1"))
    assert len(stage.cluster.running()) == 2


def _replaced(stage: AnyStage) -> None:
    """Version 2 of both jobs serves, for more than a day; version 1 has a checkpoint still."""
    deployed(stage, FIRST)
    run_all(stage.platform, OTHER)
    for job in JOBS:
        for number in (1, 2):
            folder = folder_of(stage.platform.settings.checkpoints(job, number) / "g1")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "metadata").write_text("x" * 100)
    stage.clock.sleep(26 * 3600.0)


TRIALS: dict[str, Callable[..., None]] = {
    "replay": replay,
    "prove": proof,
    "promote": promotion,
    "rollback": partial(rollback, stopped=True),
    "retire": retirement,
}
"""One of each verb, by name."""
