"""The lease of a run: how long it is waited for, and when its holder is known to have ended."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time.comms import ErrorResponse

from kappa.airflow import lease_tasks, task_context
from kappa.airflow.task_context import RUN_TIMEOUT, WAIT_SECONDS, Conduct, NoLease
from kappa.airflow_api import Run
from kappa.core.audit import in_place_id
from kappa.core.versions import Lease
from kappa.verbs import lease

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
HELD = Lease("ad_ctr", 3, "the-run", "rescale", "ann", None, NOON, NOON)


def in_a_task(monkeypatch: pytest.MonkeyPatch, answer: str | Exception) -> list[tuple[str, str]]:
    """Let Airflow answer what state a run has; what it was asked."""
    asked: list[tuple[str, str]] = []

    def get_dagrun_state(dag_id: str, run_id: str) -> str:
        asked.append((dag_id, run_id))
        if isinstance(answer, Exception):
            raise answer
        return answer

    context = {"ti": SimpleNamespace(get_dagrun_state=get_dagrun_state)}
    monkeypatch.setattr(lease_tasks, "get_current_context", lambda: context)
    return asked


@pytest.mark.parametrize(
    ("state", "over"), [("success", True), ("failed", True), ("running", False), ("queued", False)]
)
def test_a_holder_is_over_when_its_run_has_ended(monkeypatch: pytest.MonkeyPatch, state: str, over: bool) -> None:
    asked = in_a_task(monkeypatch, state)
    assert lease_tasks.is_over(HELD) is over
    assert asked == [("rescale_stream", "the-run")]


@pytest.mark.parametrize(("status", "over"), [(404, True), (500, False), (None, False)])
def test_a_holder_is_over_when_its_run_was_deleted(
    monkeypatch: pytest.MonkeyPatch, status: int | None, over: bool
) -> None:
    said = ErrorResponse(error=ErrorType.API_SERVER_ERROR, detail={"status_code": status} if status else None)
    in_a_task(monkeypatch, AirflowRuntimeError(said))
    assert lease_tasks.is_over(HELD) is over


def test_a_command_in_place_is_not_airflow_s_to_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = in_a_task(monkeypatch, "failed")
    assert not lease_tasks.is_over(replace(HELD, run_id=in_place_id("rescale", "ad_ctr")))
    assert asked == []


@pytest.mark.parametrize(("when_held", "waits"), [("refuse", 0), ("wait", WAIT_SECONDS)])
def test_the_form_says_whether_a_holder_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, when_held: str, waits: int
) -> None:
    taken = taking(monkeypatch, {"dry_run": False, "when_held": when_held})
    assert lease_tasks.lease.function("rescale") == 3
    [(_, verb, job, _, seconds, waited, is_over)] = taken
    assert (verb, job, seconds, waited, is_over) == (
        "rescale", "ad_ctr", RUN_TIMEOUT.total_seconds(), waits, lease_tasks.is_over
    )  # fmt: skip


def test_a_dry_run_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = taking(monkeypatch, {"dry_run": True, "when_held": "refuse"})
    assert lease_tasks.lease.function("rescale") is None
    assert taken == []


def taking(monkeypatch: pytest.MonkeyPatch, params: dict[str, Any]) -> list[Any]:
    """Let a task run with a form filled in so; the leases that it asked for."""
    taken: list[Any] = []

    @contextmanager
    def conducting(verb: str) -> Any:
        yield SimpleNamespace(platform=None, job="ad_ctr", author=None, params=params, dry_run=params["dry_run"])

    def take(*given: Any) -> Lease:
        taken.append(given)
        return HELD

    monkeypatch.setattr(lease_tasks, "conducting", conducting)
    monkeypatch.setattr(lease, "take", take)
    return taken


def test_a_task_whose_run_has_no_lease_may_not_act(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[Any] = []
    registry: Any = SimpleNamespace(record=recorded.append)
    platform: Any = SimpleNamespace(registry=registry, settings=None)
    author: Any = SimpleNamespace(run_id="the-run")
    bare = Conduct(platform, author, {}, "ad_ctr", False, Run("d", "r"), None)
    monkeypatch.setattr(task_context, "_conduct", lambda: bare)
    monkeypatch.setattr(task_context.run_note, "leave", lambda *_: True)  # type: ignore[attr-defined]
    with pytest.raises(NoLease, match="the-run has taken no lease"), task_context.acting("rescale"):
        pytest.fail("it acted")
    assert [entry.action for entry in recorded] == ["rescale.refused"]
