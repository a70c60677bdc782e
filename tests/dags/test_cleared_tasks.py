"""Tasks of an older run that somebody clears: they act on no version but the one that their run holds."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from airflow.dag_processing.dagbag import DagBag

from kappa.airflow import task_context
from kappa.airflow.task_context import Conduct
from kappa.airflow_api import Run
from kappa.core.audit import Author
from kappa.core.changes import Change, RunsAs
from kappa.core.verb_steps import StopStep
from kappa.core.versions import Desired
from kappa.platform import Platform
from kappa.verbs.change import steps as changing
from kappa.verbs.deploy import steps as deploy
from kappa.verbs.deploy.plan import Action, DeployPlan
from kappa.verbs.desired import Wanted
from kappa.verbs.drivers import standby as standing
from kappa.verbs.lease import NotHolder
from kappa.verbs.stop import steps as stop
from kappa.verbs.stop.plan import StopPlan
from tests.plugins.fakes import FakeRegistry
from tests.plugins.replay_plans import live

BY, RUNS_AS = Author("ada", "run-a", "why"), RunsAs("code", {}, 1)
STOPS, DEPLOYS = ["request", "wait", "conclude"], ["stage", "launch", "ready", "live", "conclude"]
ACTS = {"stage": "stage", "launch": "start", "ready": "ready", "live": "live", "conclude": "conclude"}
"""The step of a deployment that a task makes."""


class Cleared:
    """A run of a verb on ad_ctr, whose lease was taken on version `held` when its tasks were cleared."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, bag: DagBag, verb: str) -> None:
        self._patch, self._dag, self._verb = monkeypatch, bag.dags[f"{verb}_stream"], verb
        self.registry = FakeRegistry()
        self.acted: list[str] = []
        for number in (1, 2, 3):
            self.registry.stage(live("ad_ctr", number), BY, {})

    def run(self, task: str, planned: Any, held: int, *given: Any) -> None:
        """Run the task with the plan that its run made once. Raises what it raises."""
        self.registry.take_lease(self._verb, "ad_ctr", held, BY, 600, None)
        platform: Any = type("Ports", (), {"registry": self.registry, "settings": None})
        where: Platform = platform
        run = Run(self._dag.dag_id, BY.run_id)
        conduct = Conduct(where, BY, {"dry_run": False, "job": "ad_ctr"}, "ad_ctr", False, run, held)
        self._patch.setattr(task_context, "_conduct", lambda: conduct)
        self._patch.setattr(task_context.run_note, "leave", lambda *_: True)  # type: ignore[attr-defined]
        made: Any = self._dag.get_task(task)
        function = made.python_callable
        if "announce" in function.__globals__:
            self._patch.setitem(function.__globals__, "announce", lambda *_: None)
        function(*([planned.to_json()] if planned else []), *given)

    def note_acts(self, module: Any, *names: str) -> None:
        """Only note what is done."""
        for name in names:
            self._patch.setattr(module, name, lambda *_, name=name: self.acted.append(name))


def planned(version: int, replaces: int | None = None) -> DeployPlan:
    """The plan of a first deployment."""
    wanted = Wanted("ad_ctr", "code", {}, "ad_events", "topic-one", "state", "result")
    return DeployPlan(Action.FIRST, version, wanted, ("why",), replaces=replaces)


@pytest.mark.parametrize("task", STOPS)
def test_a_stop_that_was_planned_for_another_version_stops_none(
    monkeypatch: pytest.MonkeyPatch, bag: DagBag, task: str
) -> None:
    cleared = Cleared(monkeypatch, bag, "stop")
    cleared.note_acts(stop, "wait", "conclude")
    plan = StopPlan("ad_ctr", 1, tuple(StopStep), "why")
    given = (True,) if task == "conclude" else ()
    with pytest.raises(NotHolder, match="run-a does not hold ad_ctr v1"):
        cleared.run(task, plan, 2, *given)
    assert cleared.registry.held["ad_ctr", 1].desired is Desired.RUNNING
    cleared.run(task, replace(plan, version=2), 2, *given)
    assert cleared.acted == [] if task == "request" else [task]


@pytest.mark.fault("F4", "a task cleared after another run took the version does nothing and says so")
@pytest.mark.parametrize("task", DEPLOYS)
def test_a_deployment_that_was_planned_for_another_version_starts_none(
    monkeypatch: pytest.MonkeyPatch, bag: DagBag, task: str
) -> None:
    cleared = Cleared(monkeypatch, bag, "deploy")
    cleared.note_acts(deploy, *ACTS.values())
    with pytest.raises(NotHolder, match="run-a does not hold ad_ctr v2"):
        cleared.run(task, planned(2, replaces=1), 3)
    assert cleared.acted == []


@pytest.mark.parametrize("task", ["standby", "hold", "switch", "launch_new", "ready_new"])
def test_a_change_of_another_version_goes_no_step_further(
    monkeypatch: pytest.MonkeyPatch, bag: DagBag, task: str
) -> None:
    cleared = Cleared(monkeypatch, bag, deploy.VERB)
    cleared.note_acts(changing, "hold", "switch", "launch", "ready")
    cleared.note_acts(standing, "prepare")
    for version in (1, 3):
        change = Change(uuid4(), "ad_ctr", version, deploy.VERB, BY.run_id, Desired.RUNNING, RUNS_AS, RUNS_AS)
        monkeypatch.setattr(changing, "of_run", lambda *_, change=change: change)
        with pytest.raises(NotHolder, match="run-a does not hold ad_ctr v1") if version == 1 else nullcontext():
            cleared.run(task, None, 3, deploy.VERB)
        assert len(cleared.acted) == (version == 3)


@pytest.mark.parametrize("task", DEPLOYS)
@pytest.mark.parametrize(
    ("version", "replaces", "held"),
    [(4, None, 4), (4, 3, 3), (4, 3, 4), (3, None, 3)],
    ids=["not made yet", "in place of one that never served", "the same, cleared once it was made", "resumed"],
)
def test_a_deployment_acts_while_its_run_holds_the_version_or_the_one_that_it_replaces(
    monkeypatch: pytest.MonkeyPatch, bag: DagBag, task: str, version: int, replaces: int | None, held: int
) -> None:
    cleared = Cleared(monkeypatch, bag, "deploy")
    cleared.note_acts(deploy, *ACTS.values())
    cleared.run(task, planned(version, replaces), held)
    assert cleared.acted == [ACTS[task]]
