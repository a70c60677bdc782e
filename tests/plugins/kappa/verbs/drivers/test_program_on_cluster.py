"""A finite program on the cluster: one try at a time, followed through what does not answer, ended with its host."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kappa.cluster import DriverState
from kappa.core.audit import Author
from kappa.core.changes import Change, Outcome
from kappa.unavailable import Unreachable
from kappa.verbs.change import steps
from kappa.verbs.drivers import program_on_cluster
from kappa.verbs.drivers.finite_program import EndedWithoutWord, Program
from tests.plugins.change_runs import JOB, deployed, wider
from tests.plugins.conftest import Stage
from tests.plugins.fakes import FakeCluster

DONE = Outcome("4 rows, equal.", {})


@pytest.fixture
def change(stage: Stage, author: Author) -> Change:
    old = deployed(stage, author)
    return steps.begin(stage.platform, "rescale", JOB, 1, old, wider(old), author)


@pytest.fixture
def said() -> list[str]:
    return []


def run(stage: Stage, change: Change, said: list[str]) -> str:
    """What a program is called on the cluster that ran there to its end."""
    left = program_on_cluster.running(stage.platform, change, Program.TRIAL, said.append)
    attempt = left or program_on_cluster.start(stage.platform, change, Program.TRIAL, said.append)
    program_on_cluster.follow(stage.platform, change, Program.TRIAL, attempt, said.append)
    return str(attempt.submission_id)


def leave(stage: Stage, change: Change, outcome: Outcome) -> None:
    found = stage.registry.attempt(change.change_id, Program.TRIAL)
    assert found is not None
    stage.registry.leave_outcome(found.attempt_id, outcome)


def test_it_is_followed_until_it_has_left_its_outcome(stage: Stage, change: Change, said: list[str]) -> None:
    stage.clock.meanwhile.append(lambda: leave(stage, change, DONE))
    name = run(stage, change, said)
    assert said == [f"the trial was submitted to the cluster, as {name}", "the trial on the cluster is RUNNING"]


def test_who_comes_after_a_lost_follower_follows_the_same_try(stage: Stage, change: Change, said: list[str]) -> None:
    before = program_on_cluster.start(stage.platform, change, Program.TRIAL, said.append)
    stage.clock.meanwhile.append(lambda: leave(stage, change, DONE))
    assert run(stage, change, said) == before.submission_id
    assert said[1] == f"the trial runs on the cluster already, as {before.submission_id}"


@pytest.mark.parametrize("how", [DriverState.ERROR, DriverState.KILLED, DriverState.FINISHED])
def test_one_that_is_gone_without_a_word_makes_way_for_another(
    stage: Stage, change: Change, said: list[str], how: DriverState
) -> None:
    before = program_on_cluster.start(stage.platform, change, Program.TRIAL, said.append)
    stage.cluster.states[str(before.submission_id)] = how
    with pytest.raises(EndedWithoutWord, match=f"its driver {before.submission_id} is {how}"):
        program_on_cluster.follow(stage.platform, change, Program.TRIAL, before, said.append)
    stage.clock.meanwhile.append(lambda: leave(stage, change, DONE))
    assert run(stage, change, said) != before.submission_id


def test_one_that_another_has_followed_is_followed_no_more(stage: Stage, change: Change, said: list[str]) -> None:
    before = program_on_cluster.start(stage.platform, change, Program.TRIAL, said.append)
    stage.cluster.states[str(before.submission_id)] = DriverState.ERROR
    program_on_cluster.start(stage.platform, change, Program.TRIAL, said.append)
    with pytest.raises(EndedWithoutWord, match="another attempt has followed it"):
        program_on_cluster.follow(stage.platform, change, Program.TRIAL, before, said.append)


def test_a_master_that_does_not_answer_ends_nothing(stage: Stage, change: Change, said: list[str]) -> None:
    """Another one may be taking over; the program runs on."""

    class Away(FakeCluster):
        def state(self, *_: object) -> DriverState:
            raise Unreachable("Spark's master", "m1", "none of them leads")

    cluster = stage.platform.cluster
    attempt = program_on_cluster.start(stage.platform, change, Program.TRIAL, said.append)
    away = replace(stage.platform, cluster=Away(stage.registry))

    def comes_back() -> None:
        object.__setattr__(away, "cluster", cluster)
        leave(stage, change, DONE)

    stage.clock.meanwhile.append(comes_back)
    program_on_cluster.follow(away, change, Program.TRIAL, attempt, said.append)
    assert "the trial runs on: Spark's master" in said[1]
