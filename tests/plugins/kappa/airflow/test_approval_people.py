"""Who may approve, in a real Airflow under either auth manager: the doors, word for word, and the audit's lines."""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from kappa.airflow.approval import REFUSED
from kappa.airflow_api import AirflowRefused, Run
from kappa.core.installation.needs import POOLS
from stack.layout import Layout
from stack.services import airflow as control
from stack.services import airflow_pools
from tests.rigs.asking_airflow import PEOPLE, ROLES, WAITING, AskingAirflow, fab, simple

RIGS = {"simple": simple, "fab": fab}
PROMOTED = {"stage": "success", "approve": "success", "promote": "success"}


def changes(role: str) -> set[tuple[str, str]]:
    """What the file of roles lets a role change of others: (action, resource)."""
    lines = [line for line in json.loads(ROLES.read_text()) if line["name"] == role]
    may = {(action, line["resource"]) for line in lines for action in line["action"].split(",")}
    looks = {"can_read", "menu_access"}
    return {(action, what) for action, what in may if action not in looks and not what.startswith("My ")}


def test_the_roles_are_as_narrow_as_they_are_called() -> None:
    answers = {("can_edit", "DAGs"), ("can_edit", "HITL Detail")}
    assert (changes("viewer"), changes("approver")) == (set(), answers)
    starts = {(action, what) for action in ("can_create", "can_edit") for what in ("DAG Runs", "Task Instances")}
    assert changes("operator") == answers | starts


@pytest.fixture(scope="module", params=list(RIGS))
def asking(
    request: pytest.FixtureRequest, parts: Layout, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AskingAirflow]:
    with RIGS[request.param](parts, tmp_path_factory.mktemp("airflow")) as started:
        yield started


def audit(asking: AskingAirflow, run: Run) -> list[tuple[str, str, str]]:
    """The run's lines: (action, who, answer or sentence)."""
    query = (
        "select action, actor, coalesce(evidence ->> 'answer', evidence ->> 'sentence') from registry.audit "
        "where run_id = %s order by audit_id"
    )
    with psycopg.connect(asking.layout.settings.dsn("kappa_registry")) as connection:
        return connection.execute(query, [run.run_id]).fetchall()


@pytest.mark.rig
@pytest.mark.long(minutes=3)
def test_the_viewer_is_kept_out_the_asker_is_refused_and_the_approver_approves(asking: AskingAirflow) -> None:
    run = asking.asked("asks", "operator")
    with pytest.raises(AirflowRefused, match=r"Airflow refused the answer \(403\): Forbidden"):
        asking.person("viewer").answer(run, "approve", -1, "Approve")

    asking.person("operator").answer(run, "approve", -1, "Approve")
    asking.until(run, lambda state: state in WAITING and len(audit(asking, run)) == 1)
    [(action, who, sentence)] = audit(asking, run)
    assert (action, who) == (REFUSED, "operator")
    asker = f"{getpass.getuser()} as operator"
    assert sentence.startswith(
        f"{asker} asked for the replay of asked v2, and operator would approve it: somebody else"
    )

    asking.person("approver").answer(run, "approve", -1, "Approve")
    assert asking.ended(run) == PROMOTED
    assert audit(asking, run)[1:] == [("replay.answered", "approver", "approved")]
    if asking.connected:
        assert (asking.note(run) or "").startswith(sentence)
    else:
        assert asking.note(run) is None
        assert "no note was left on the run: Airflow has no connection 'kappa_airflow'" in asking.log(run)


@pytest.mark.rig
@pytest.mark.long(minutes=1)
def test_a_rejection_and_a_time_out_skip_the_promotion(asking: AskingAirflow) -> None:
    rejected, late = asking.asked("asks", "operator"), asking.person("operator").trigger("asks_briefly", "asked", {})
    asking.person("approver").answer(rejected, "approve", -1, "Reject")
    for run, who, answer in ((rejected, "approver", "rejected"), (late, "nobody", "timed out")):
        assert asking.ended(run) == {**PROMOTED, "promote": "skipped"}
        assert audit(asking, run) == [("replay.answered", who, answer)]


@pytest.mark.rig
@pytest.mark.long(minutes=1)
def test_an_answer_that_the_task_never_got_counts_when_it_is_run_again(asking: AskingAirflow) -> None:
    run = asking.asked("asks", "operator")
    again = {"dry_run": False, "dag_run_id": run.run_id, "task_ids": ["approve"], "only_failed": False}
    with asking.standing_still(control.SCHEDULER):
        asking.person("approver").answer(run, "approve", -1, "Approve")
        asking.person("operator").ask("to clear", "POST", f"/api/v2/dags/{run.dag_id}/clearTaskInstances", again)
    assert asking.ended(run) == PROMOTED
    assert audit(asking, run) == [("replay.answered", "approver", "approved")]


@pytest.mark.rig
@pytest.mark.long(minutes=1)
def test_what_the_roles_may_do(asking: AskingAirflow) -> None:
    """Each may look at our DAGs, which are read without an error, and at pools; a viewer may start none."""
    for name in PEOPLE:
        seen = {one["dag_id"] for one in asking.person(name).ask("to list", "GET", "/api/v2/dags")["dags"]}
        assert {"reprocess_stream", "check_installation"} <= seen
        assert "default_pool" in asking.person(name).pools()
    errors = asking.person("operator").ask("to list errors", "GET", "/api/v2/importErrors")["import_errors"]
    assert errors == []
    with pytest.raises(AirflowRefused, match=r"to run asks \(403\): Forbidden"):
        asking.person("viewer").trigger("asks", "asked", {})


@pytest.mark.rig
@pytest.mark.long(minutes=1)
def test_what_is_missing_is_named_and_then_is_not(asking: AskingAirflow) -> None:
    state, found = checked(asking)
    parts = [one["part"] for one in found["findings"]]
    if not asking.connected:
        assert (state, parts) == ("failed", ["connection spark_local"])
        assert [words.partition(" ")[0] for words in found["not_looked_at"]] == ["pools", "notes"]
        return
    assert (state, parts) == ("failed", [f"pool {pool.name}" for pool in POOLS])
    asking.person("operator").make_pools(airflow_pools.wanted(asking.layout.settings))
    assert checked(asking) == ("success", {"findings": [], "not_looked_at": []})


def checked(asking: AskingAirflow) -> tuple[str, Any]:
    """How a run of `check_installation` ended, and what its task saw."""
    person = asking.person("operator")
    run = person.trigger("check_installation", "installation", {})
    asking.ended(run)
    path = "taskInstances/look/xcomEntries/return_value?deserialize=true"
    return person.look(run).state, person.of_run("to show what a task saw", "GET", run, path)["value"]
