"""A replay, a promotion, a roll-back or a retirement that is killed around any of its calls and run again: one end."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kappa.hooks.registry import Author
from kappa.replays import Answer
from kappa.states import State
from kappa.steps import promote, reprocess, retire
from kappa.steps.stop import end_driver

from tests.plugins.conftest import Stage
from tests.plugins.kills import Death, killed_anywhere
from tests.plugins.replay_runs import JOBS, deployed, move, run_all, serving

Stages = Callable[[], Stage]
OTHER, THIRD, SWEEP = (Author(f"user-{n}", f"run-{n}", "why") for n in (2, 3, 4))
OLD, NEW = dict.fromkeys(JOBS, 1), dict.fromkeys(JOBS, 2)
MOVES = {"registry.take_lease", "releases.hand_over", "log.ends", "registry.record", "registry.release_leases"}


def states(stage: Stage, number: int) -> list[State]:
    """The states of one version of each job."""
    return [v.state for job in JOBS for v in stage.platform.registry.versions(job) if v.version == number]


@pytest.mark.fault("F27", "killed before any call of a port and run again: staged, compared and promoted once")
def test_a_replay(stages: Stages, author: Author) -> None:
    def trial(death: Death) -> None:
        stage = stages()
        deployed(stage, author)
        with death.process(stage.platform) as mortal:
            run_all(mortal, OTHER)
        assert serving(stage) in (OLD, NEW), "never one job without the other"
        done = run_all(stage.platform, OTHER)
        assert serving(stage) == done.promoted == NEW
        assert len(stage.platform.releases.releases()) == 3, "two first deployments and one release"
        assert len(stage.cluster.running()) == 4
        assert stage.platform.releases.open_replays() == []

    staged = {"releases.stage_candidates", "cluster.submit", "releases.note_validation", "releases.note_answer"}
    assert MOVES | staged | {"releases.end_replay"} <= killed_anywhere(trial)


def test_a_proof(stages: Stages, author: Author) -> None:
    def trial(death: Death) -> None:
        stage = stages()
        deployed(stage, author)
        with death.process(stage.platform) as mortal:
            run_all(mortal, OTHER, reprocess.PROVE, promote=False)
        done = run_all(stage.platform, OTHER, reprocess.PROVE, promote=False)
        assert done.sentence.startswith("live equals replay over 2 records: ad_ctr v2, client_spend v2")
        assert serving(stage) == OLD
        assert states(stage, 2) == [State.RETIRED] * 2
        assert len(stage.cluster.running()) == 2

    assert {"releases.stage_candidates", "releases.retire", "registry.record"} <= killed_anywhere(trial)


def test_a_promotion_by_hand(stages: Stages, author: Author) -> None:
    def trial(death: Death) -> None:
        stage = stages()
        deployed(stage, author)
        run_all(stage.platform, OTHER, answer=Answer.TIMED_OUT)
        plan = promote.plan_promote(stage.platform, JOBS, THIRD)
        with death.process(stage.platform) as mortal:
            move(mortal, promote.PROMOTE, plan, THIRD)
        assert serving(stage) in (OLD, NEW)
        move(stage.platform, promote.PROMOTE, plan, THIRD)
        assert serving(stage) == NEW
        assert len(stage.platform.releases.releases()) == 3
        assert len(stage.cluster.running()) == 4

    assert killed_anywhere(trial) >= MOVES


@pytest.mark.parametrize("stopped", [False, True])
def test_a_roll_back(stages: Stages, author: Author, stopped: bool) -> None:
    def trial(death: Death) -> None:
        stage = stages()
        deployed(stage, author)
        run_all(stage.platform, OTHER)
        if stopped:
            end_driver(stage.platform, "ad_ctr", 1, author)
        plan = promote.plan_rollback(stage.platform, JOBS)
        with death.process(stage.platform) as mortal:
            move(mortal, promote.ROLLBACK, plan, THIRD)
        assert serving(stage) in (OLD, NEW)
        move(stage.platform, promote.ROLLBACK, plan, THIRD)
        assert serving(stage) == OLD
        assert len(stage.platform.releases.releases()) == 4
        assert len(stage.cluster.running()) == 4

    assert MOVES | ({"cluster.submit"} if stopped else set()) <= killed_anywhere(trial)


def test_a_retirement(stages: Stages, author: Author) -> None:
    def trial(death: Death) -> None:
        stage = stages()
        _replaced(stage, author)
        with death.process(stage.platform) as mortal:
            retire.carry_out(mortal, retire.plan_retire(mortal, SWEEP), SWEEP)
        retire.carry_out(stage.platform, retire.plan_retire(stage.platform, SWEEP), SWEEP)
        assert states(stage, 1) == [State.RETIRED] * 2
        assert stage.platform.releases.unfreed() == set()
        assert not list((stage.platform.settings.home / "checkpoints").glob("*/v1"))
        assert len(stage.cluster.running()) == 2

    assert {"registry.take_lease", "releases.retire", "registry.record", "releases.pins"} <= killed_anywhere(trial)


def _replaced(stage: Stage, by: Author) -> None:
    """Version 2 of both jobs serves, for more than a day; version 1 has a checkpoint still."""
    deployed(stage, by)
    run_all(stage.platform, OTHER)
    for job in JOBS:
        for number in (1, 2):
            folder = stage.platform.settings.checkpoint(job, number, 1)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "metadata").write_text("x" * 100)
    stage.clock.sleep(26 * 3600.0)
