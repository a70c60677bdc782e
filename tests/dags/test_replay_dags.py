"""The DAGs of replays and promotions: what is held and for how long, what waits where, and what runs on schedule."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.exceptions import ParamValidationError

from kappa.core.installation.embedded import Cluster
from kappa.core.job_catalog import JOBS, find, resolve
from kappa.core.replays import Approval
from kappa.core.requests.fields import read
from kappa.core.requests.lifecycle import HalfAVersion, NothingSaid, RetireRequest
from kappa.core.requests.reprocessing import InvalidBand, ProveRequest, ReprocessRequest
from kappa.core.validation import Band, Direction, Parity
from kappa.core.verb_steps import Verb
from kappa.verbs.drivers.size import size_of
from kappa.verbs.promote import steps as promote_steps

REPLAYS = ["prove_replay", "reprocess_stream"]
MOVES = ["promote_stream", "rollback_stream"]


@pytest.mark.parametrize("dag_id", REPLAYS + MOVES)
def test_the_candidates_are_held_from_before_they_are_made_and_given_back_whatever_happens(
    bag: DagBag, dag_id: str
) -> None:
    dag = bag.dags[dag_id]
    assert dag.get_task("lease").is_setup
    assert dag.get_task("release").is_teardown
    assert dag.roots == [dag.get_task("plan")]
    assert dag.leaves == [dag.get_task("release")]
    assert dag.get_task("lease").upstream_task_ids == {"plan", "choose"}
    assert {"lease", "conclude"} == dag.get_task("release").upstream_task_ids


@pytest.mark.parametrize(("dag_id", "pool"), [(d, "replay") for d in REPLAYS] + [(d, "default_pool") for d in MOVES])
def test_replays_catch_up_one_at_a_time_and_a_roll_back_waits_for_none(bag: DagBag, dag_id: str, pool: str) -> None:
    assert bag.dags[dag_id].get_task("catch_up").pool == pool


@pytest.mark.parametrize("dag_id", REPLAYS)
def test_no_answer_is_no(bag: DagBag, dag_id: str) -> None:
    ask: Any = bag.dags[dag_id].get_task("approve")
    assert (ask.defaults, ask.response_timeout) == (["Reject"], timedelta(hours=12))
    assert ask.downstream_task_ids == {"promote"}, "a no skips the promotion, not the end of the run"


def test_a_proof_waits_until_somebody_switches_it_on(bag: DagBag) -> None:
    dag = bag.dags["prove_replay"]
    schedule: Any = dag.timetable
    assert (dag.is_paused_upon_creation, dag.catchup, dag.max_active_runs) == (True, False, 1)
    assert schedule.expression == "15 3 * * *"
    assert dag.params.validate()["promote"] is False


def test_versions_are_retired_every_hour(bag: DagBag) -> None:
    dag = bag.dags["retire_versions"]
    schedule: Any = dag.timetable
    assert (dag.is_paused_upon_creation, dag.catchup, dag.max_active_runs) == (False, False, 1)
    assert schedule.expression == "5 * * * *"
    assert read(RetireRequest, dag.params.validate()).chosen() is None


def test_what_keeps_the_disk_free_waits_for_nothing_and_nothing_for_it(bag: DagBag) -> None:
    dag = bag.dags["retire_versions"]
    assert set(dag.task_ids) == {"plan", "conclude", "old_files", "old_rows", "clean_airflow"}
    alone = [dag.get_task(task) for task in ("old_files", "old_rows", "clean_airflow")]
    assert [task.upstream_task_ids | task.downstream_task_ids for task in alone] == [set()] * 3


@pytest.mark.parametrize(
    ("verb", "dag_id"),
    [
        ("prove", "prove_replay"),
        ("retire", "retire_versions"),
        ("validate", "validate_live"),
        ("promote", "promote_stream"),
        ("stop", "stop_stream"),
    ],
)
def test_the_runs_of_a_verb_are_looked_for_in_its_dag(bag: DagBag, verb: str, dag_id: str) -> None:
    assert Verb(verb).dag_id == dag_id
    assert dag_id in bag.dags


def test_a_filled_in_form_is_read(bag: DagBag) -> None:
    filled = bag.dags["reprocess_stream"].params.validate() | {
        "jobs": ["client_spend", "ad_ctr"], "click_interval_ms": 30_000, "parity": "declared",
        "bands": ["clicks:down:50"], "approval": "ask", "rate": 2_000, "reason": "wider clicks",
    }  # fmt: skip
    asked = read(ReprocessRequest, filled)
    assert (asked.jobs, asked.settings) == (("client_spend", "ad_ctr"), {"click_interval_ms": 30_000})
    assert (asked.parity, asked.bands) == (Parity.DECLARED, (Band("clicks", Direction.DOWN, 50),))
    assert (asked.approval, asked.rate, asked.cores, asked.promote) == (Approval.ASK, 2_000, None, True)
    with pytest.raises(InvalidBand):
        read(ReprocessRequest, filled | {"bands": ["clicks"]})


def test_a_proof_on_schedule_has_room_beside_the_live_jobs_of_the_embedded_stack(bag: DagBag) -> None:
    """A refusal for want of cores would be all that anybody ever saw of it."""
    asked = read(ProveRequest, bag.dags["prove_replay"].params.validate()).replay("earliest")
    live = sum(size_of(resolve(job, {})).cores for job in JOBS.values())
    proving = sum(size_of(resolve(find(name), {"executor_cores": asked.cores or 0})).cores for name in asked.jobs)
    assert live + proving <= Cluster().worker_cores


def test_half_a_version_is_not_retired() -> None:
    asked = {"job": "ad_ctr", "version": 3, "reason": "why", "dry_run": False}
    assert read(RetireRequest, asked).chosen() == ("ad_ctr", 3)
    for half in ({"job": "ad_ctr", "version": None}, {"job": None, "version": 3}):
        with pytest.raises(HalfAVersion):
            read(RetireRequest, half).chosen()


@pytest.mark.parametrize("dag_id", MOVES)
@pytest.mark.parametrize("reason", [None, "", "  "])
def test_a_form_that_moves_readers_wants_a_reason(bag: DagBag, dag_id: str, reason: str | None) -> None:
    params = copy.deepcopy(bag.dags[dag_id].params)
    with pytest.raises(ParamValidationError):
        params.validate()
    with pytest.raises(ParamValidationError):
        params["reason"] = reason
    params["reason"] = "numbers of the 30th"
    assert params.validate()["reason"] == "numbers of the 30th"


@pytest.mark.parametrize("reason", [None, "", "  "])
def test_a_retirement_by_hand_wants_a_reason_and_a_sweep_or_a_dry_run_does_not(reason: str | None) -> None:
    by_hand = {"job": "ad_ctr", "version": 3, "reason": reason, "dry_run": False}
    with pytest.raises(NothingSaid, match="Nothing was changed"):
        read(RetireRequest, by_hand).chosen()
    assert read(RetireRequest, {**by_hand, "dry_run": True}).chosen() == ("ad_ctr", 3)
    assert read(RetireRequest, {**by_hand, "job": None, "version": None}).chosen() is None


def test_a_promotion_is_planned_as_of_when_its_run_was_asked_for(bag: DagBag, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_at, asked = datetime(2026, 1, 31, 12, tzinfo=UTC), list[Any]()
    plan: Any = bag.dags["promote_stream"].get_task("plan")
    run = SimpleNamespace(
        platform=None, author=None, asked_at=asked_at, params={"jobs": ["ad_ctr"], "reason": "why", "dry_run": True}
    )

    def plan_promote(*given: Any) -> Any:
        asked.extend(given)
        return SimpleNamespace(rows=list, to_json=dict)

    monkeypatch.setitem(plan.python_callable.__globals__, "conducting", lambda _: nullcontext(run))
    monkeypatch.setattr(promote_steps, "plan_promote", plan_promote)
    plan.python_callable()
    assert asked == [None, ("ad_ctr",), None, asked_at]
