"""The task of `validate_live`: what its form asks for is looked at, and a dry run looks at nothing."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag

from kappa.airflow import task_context
from kappa.airflow.task_context import Conduct
from kappa.airflow_api import Run
from kappa.core.audit import Author
from kappa.core.refusals import Refusal
from kappa.verbs.validate import steps as validate
from tests.plugins.fakes import FakeRegistry

BY = Author("airflow", "run-1")


class Asked:
    """A run whose looks are written down, and find what `finds` says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, bag: DagBag) -> None:
        self.registry, self.looks, self.notes = FakeRegistry(), list[tuple[int, bool]](), list[str]()
        self.finds: Exception | None = None
        self._patch, self._task = monkeypatch, bag.dags["validate_live"].get_task("look")
        monkeypatch.setattr(task_context.run_note, "leave", lambda *given: self.notes.append(given[-1]))  # type: ignore[attr-defined]
        monkeypatch.setattr(validate, "plan_validate", lambda _, hours: [hours])
        monkeypatch.setattr(validate, "told", lambda planned: f"{planned[0]} hours")
        monkeypatch.setattr(validate, "carry_out", self._carry_out)

    def run(self, last_try: bool = False, **form: Any) -> str:
        """What the task says. Raises what it raises."""
        platform: Any = type("Ports", (), {"registry": self.registry, "settings": None})
        params = {"hours": 3, "reason": None, "dry_run": False} | form
        conduct = Conduct(platform, BY, params, "", last_try, Run("validate_live", BY.run_id))
        self._patch.setattr(task_context, "_conduct", lambda: conduct)
        task: Any = self._task
        said: str = task.python_callable()
        return said

    def _carry_out(self, _: Any, planned: list[int], by: Author, last_try: bool) -> str:
        self.looks.append((planned[0], last_try))
        if self.finds:
            raise self.finds
        return "all is as it must be."


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, bag: DagBag) -> Asked:
    return Asked(monkeypatch, bag)


def test_so_many_hours_are_looked_at_as_the_form_says(asked: Asked) -> None:
    assert asked.run(hours=24, last_try=True) == "all is as it must be."
    assert asked.looks == [(24, True)]


def test_a_dry_run_looks_at_nothing(asked: Asked) -> None:
    assert asked.run(dry_run=True) == "dry run: would look at 3 hours; nothing was changed."
    assert asked.looks == []


def test_what_does_not_pass_fails_the_run_with_its_words_on_its_page(asked: Asked) -> None:
    asked.finds = Refusal("ad_ctr v1: not met")
    with pytest.raises(Refusal, match="not met"):
        asked.run()
    assert asked.notes[0].startswith("ad_ctr v1: not met")
