"""The question whether to promote, without Airflow's processes: who is asked, which answer holds, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from airflow.sdk.exceptions import TaskAwaitingInput, TaskDeferred

from kappa.airflow import approval as asking
from kappa.core.audit import Entry
from kappa.core.replays import Answer, Approval, Replay
from kappa.core.validation import Parity
from kappa.verbs.replay import steps as reprocess
from kappa.verbs.replay.approval_text import markdown, verdict

FOUND: dict[str, Any] = {
    "success": True, "crashed": False, "compared_rows": 12, "folder": "validations/x",
    "statistics": {"expectations": 9, "passed": 8, "blocking": 0, "warnings": 1},
    "comparisons": [{"job": "ad_ctr", "live": 1, "candidate": 2, "compared": 12,
                     "figures": {"live_clicks": 1200, "candidate_clicks": 1100}}],
    "results": [{"suite": "parity", "expectation": "equal", "says": "a|b <i>", "severity": "warn", "success": False,
                 "observed": "1 offending row", "rows": []}],
}  # fmt: skip
ASKED = Replay(
    uuid4(), "run", {"ad_ctr": 2}, {"ad_ctr": 1}, None, Parity.EXACT, (), Approval.ASK, True, "root as ann", "why",
    {"records": 5}, FOUND,
)  # fmt: skip
ANN, BOB = {"id": "1", "name": "ann"}, {"id": "2", "name": "bob"}


@dataclass
class Run:
    """A run whose task asks: its replay as it became, what was put to Airflow, the audit and the notes."""

    replays: list[Replay] = field(default_factory=lambda: [ASKED])
    questions: list[dict[str, Any]] = field(default_factory=list)
    audit: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped: list[Any] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def replay(self) -> Replay:
        return self.replays[-1]

    def note_answer(self, _: object, answer: Answer, by: Any) -> Replay:
        """As the registry does: the first answer counts."""
        if self.replay.answer is None:
            self.replays.append(replace(self.replay, answer=answer, answered_by=by.actor))
        return self.replay

    def task(self) -> Any:
        """The task in a process of its own, as each half of it and each try has one."""
        return asking.AskOperator(task_id="approve", verb="reprocess")

    def context(self) -> Any:
        """What Airflow hands it; the store is the same for all tries."""
        after = [SimpleNamespace(is_teardown=False), SimpleNamespace(is_teardown=True)]
        ti = SimpleNamespace(id=uuid4())
        store = SimpleNamespace(get=self.kept.get, set=self.kept.__setitem__)
        task = SimpleNamespace(get_direct_relatives=lambda upstream: after)
        return {"task": task, "ti": ti, "task_instance": ti, "task_state_store": store}

    def starts(self) -> TaskAwaitingInput:
        """The pause that a start of the task ends in."""
        with pytest.raises(TaskAwaitingInput) as pause:
            self.task().execute(self.context())
        return pause.value

    def answered(self, option: str, user: Any, timedout: bool = False) -> Any:
        """The task, handed an answer."""
        event = {"chosen_options": [option], "responded_by_user": user, "timedout": timedout}
        return self.task().execute_complete(self.context(), event)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    made = Run()
    registry = SimpleNamespace(record=made.audit.append)
    platform = SimpleNamespace(releases=SimpleNamespace(note_answer=made.note_answer), registry=registry)
    author = SimpleNamespace(run_id="run", reason=None)

    @contextmanager
    def conducting(verb: str) -> Iterator[Any]:
        yield SimpleNamespace(platform=platform, author=author, say=made.notes.append)

    monkeypatch.setattr(asking, "conducting", conducting)
    monkeypatch.setattr(reprocess, "of_run", lambda *_: made.replay)
    monkeypatch.setattr(asking.AskOperator, "skip", lambda _, ti, tasks: made.skipped.extend(tasks))
    hitl = "airflow.providers.standard.operators.hitl.upsert_hitl_detail"
    monkeypatch.setattr(hitl, lambda **question: made.questions.append(question))
    return made


def test_whom_airflow_lets_answer_is_asked_with_the_report(run: Run) -> None:
    assert run.starts().method_name == "execute_complete"
    [question] = run.questions
    assert question["assigned_users"] is None, "a list of ours would shut out the users of another auth manager"
    assert question["subject"] == "Promote ad_ctr v2?"
    assert "12 rows compared; 8 of 9 expectations met, 0 block, 1 warn." in question["body"]
    assert "| clicks | 1,200 | 1,100 | -100 |" in question["body"]
    assert "| report | validations/x/report.html |" in question["body"]
    assert run.notes == [
        "ad_ctr v2 passed the validation and waits for an answer by somebody else than ann whom Airflow lets answer, "
        "within 12 hours."
    ]


@pytest.mark.parametrize(
    "replay", [replace(ASKED, approval=Approval.AUTO), replace(ASKED, promote=False), replace(ASKED, ended=True)]
)
def test_where_nobody_has_to_agree_nobody_is_asked(run: Run, replay: Replay) -> None:
    run.replays.append(replay)
    assert run.task().execute(run.context()) == "nobody is asked"
    assert (run.skipped, run.questions) == ([], [])


@pytest.mark.parametrize(
    ("option", "user", "timedout", "answer", "who", "skips"),
    [
        ("Approve", BOB, False, Answer.APPROVED, "bob", 0),
        ("Reject", BOB, False, Answer.REJECTED, "bob", 1),
        ("Reject", ANN, False, Answer.REJECTED, "ann", 1),
        ("Reject", None, True, Answer.TIMED_OUT, "nobody", 1),
    ],
)
def test_the_answer_is_noted_and_a_no_skips_the_promotion_only(
    run: Run, option: str, user: Any, timedout: bool, answer: Answer, who: str, skips: int
) -> None:
    run.answered(option, user, timedout)
    assert (run.replay.answer, run.replay.answered_by, len(run.skipped)) == (answer, who, skips)
    again = run.task().execute(run.context())
    assert again.startswith(answer.value), "run again, it does not ask again"
    assert len(run.skipped) == 2 * skips


@pytest.mark.parametrize(("user", "says"), [(ANN, "and ann would approve it"), (None, "does not say who approved")])
def test_what_the_asker_approves_is_refused_in_words_and_asked_again(run: Run, user: Any, says: str) -> None:
    run.starts()
    with pytest.raises(TaskAwaitingInput):
        run.answered("Approve", user)
    assert run.replay.answer is None
    assert len(run.questions) == 2, "asking again takes the answer away"
    [entry] = run.audit
    assert (entry.action, entry.job, entry.version, entry.author.actor) == (
        "replay.approval_refused", "ad_ctr", 2, user["name"] if user else "nobody"
    )  # fmt: skip
    assert says in entry.evidence["sentence"]
    assert run.notes[-1] == entry.evidence["sentence"]
    assert run.notes[-1].endswith("The question is asked again.")
    run.answered("Approve", BOB)
    assert run.replays[-1].answered_by == "bob"


def test_asked_again_the_question_ends_when_the_first_one_would_have(run: Run) -> None:
    first = run.starts().timeout
    assert asking.ANSWER_TIMEOUT - timedelta(minutes=1) < first <= asking.ANSWER_TIMEOUT
    run.kept[asking.ASKED_UNTIL] = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    with pytest.raises(TaskAwaitingInput) as pause:
        run.answered("Approve", ANN)
    assert timedelta(minutes=59) < pause.value.timeout <= timedelta(hours=1)
    run.kept[asking.ASKED_UNTIL] = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    with pytest.raises(TaskAwaitingInput) as pause:
        run.answered("Approve", ANN)
    assert pause.value.timeout == timedelta(0)


def test_a_task_that_is_run_again_leaves_its_question_and_any_answer_and_has_them_looked_at(run: Run) -> None:
    run.starts()
    context = run.context()
    with pytest.raises(TaskDeferred) as deferred:
        run.task().execute(context)
    assert len(run.questions) == 1, "to ask again would take an answer away that Airflow has"
    assert len(run.notes) == 1, "what was said since, as of a refused answer, stays on the run's page"
    assert deferred.value.method_name == "execute_complete"
    trigger: Any = deferred.value.trigger
    assert (trigger.ti_id, trigger.options, trigger.defaults) == (context["ti"].id, ["Approve", "Reject"], ["Reject"])
    assert trigger.timeout_datetime - datetime.fromisoformat(run.kept[asking.ASKED_UNTIL]) < timedelta(minutes=1)


def test_a_report_cannot_break_out_of_its_table() -> None:
    text = markdown(ASKED)
    assert "a\\|b &lt;i>" in text
    assert "| would serve | ad_ctr v2 |" in text
    assert verdict({"success": False, "crashed": True, "problem": "The validation crashed: x"}).endswith("x")
    assert "nothing to compare" in verdict({"success": False, "crashed": False, "compared_rows": 0})
    against = FOUND | {"success": False, "results": [FOUND["results"][0] | {"severity": "block"}]}
    assert verdict(against) == "12 rows were compared; not met: parity: a|b <i> (1 offending row)"
