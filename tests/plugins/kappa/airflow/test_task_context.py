"""Who acts in a run: the user of Airflow who triggered it and, from the command line, who typed the command."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from kappa.airflow import task_context
from kappa.airflow.task_context import actor_of, conducting


@pytest.mark.parametrize(
    ("user", "conf", "actor"),
    [
        ("admin", {"typed_by": "ada"}, "ada as admin"),
        ("operator", {}, "operator"),
        ("operator", None, "operator"),
        (None, {}, "airflow"),
        ("admin", {"typed_by": "admin"}, "admin"),
        ("admin", {"typed_by": 7}, "admin"),
        ("admin", {"typed_by": "x" * 65}, "admin"),
        ("admin", {"typed_by": "a\nb"}, "admin"),
    ],
)
def test_the_audit_names_the_user_and_who_typed_it(user: str | None, conf: Any, actor: str) -> None:
    assert actor_of(user, conf) == actor


def test_a_task_knows_when_its_run_was_asked_for_which_clearing_it_does_not_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked_at = datetime(2026, 1, 31, 12, tzinfo=UTC)
    run = SimpleNamespace(
        dag_id="promote_stream",
        run_id="run-1",
        run_after=asked_at,
        conf={},
        start_date=None,
        triggering_user_name="bob",
    )
    task = SimpleNamespace(try_number=3, max_tries=3, xcom_pull=lambda task_ids: None)
    context = {"dag_run": run, "ti": task, "params": {"dry_run": False}}
    monkeypatch.setattr(task_context, "get_current_context", lambda: context)
    monkeypatch.setattr(task_context, "own_settings", lambda: None)
    monkeypatch.setattr(task_context, "connect", lambda _: None)
    with conducting("promote") as conduct:
        assert (conduct.asked_at, conduct.author.actor) == (asked_at, "bob")
