"""Who acts in a run: the user of Airflow who triggered it and, from the command line, who typed the command; and what
becomes of an error in a task of it."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.definitions.retry_policy import RetryAction

from kappa.airflow import task_context
from kappa.airflow.task_context import RETRIES, actor_of, conducting
from kappa.core.installation.no_registry import NoRegistry
from kappa.core.refusals import Refusal
from kappa.unavailable import Unreachable


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


@pytest.mark.parametrize(
    ("error", "action"),
    [
        (Unreachable("Postgres", "db:5432", "it is away"), RetryAction.RETRY),
        (NoRegistry('relation "registry.change" does not exist'), RetryAction.RETRY),
        (Refusal("no"), RetryAction.FAIL),
    ],
)
def test_what_may_be_over_in_a_moment_is_tried_again(error: Refusal, action: RetryAction) -> None:
    assert RETRIES.evaluate(error, 1, 3).action is action


@pytest.mark.parametrize(
    ("error", "last_try", "word"),
    [
        (Refusal("no"), False, ("stop.refused", "no")),
        (NoRegistry("it is not there"), False, None),
        (NoRegistry("it is not there"), True, ("stop.failed", "NoRegistry: postgres has no registry")),
        (KeyError("x"), False, None),
        (KeyError("x"), True, ("stop.failed", "KeyError: 'x'")),
        (Unreachable("Postgres", "db:5432", "it is away"), True, None),
    ],
)
def test_a_refusal_leaves_its_word_at_once_and_what_is_tried_again_at_the_last_try(
    monkeypatch: pytest.MonkeyPatch, error: Exception, last_try: bool, word: tuple[str, str] | None
) -> None:
    left: list[tuple[str, str]] = []
    monkeypatch.setattr(task_context, "_conduct", lambda: SimpleNamespace(last_try=last_try))
    monkeypatch.setattr(task_context, "_leave_word", lambda _, action, sentence: left.append((action, sentence)))
    with pytest.raises(type(error)), conducting("stop"):
        raise error
    assert [(action, sentence[: len(word[1])]) for action, sentence in left] == [word] if word else left == []


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
