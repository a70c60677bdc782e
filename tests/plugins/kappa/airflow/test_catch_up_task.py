"""The question whether to promote, the wait for the catch-up, and its trigger, each without Airflow's processes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from airflow.sdk._shared.module_loading import import_string
from airflow.sdk.exceptions import TaskAwaitingInput, TaskDeferred

from kappa.airflow import approval as asking
from kappa.airflow import catch_up
from kappa.airflow.catch_up_trigger import CatchUpTrigger
from kappa.core.replays import Answer, Approval, Replay
from kappa.core.validation import Parity
from kappa.unavailable import Unreachable
from kappa.verbs.replay import steps as reprocess
from kappa.verbs.replay.catch_up import Pursuit
from kappa.verbs.replay.progress import CatchUp, Progress
from kappa.verbs.replay.report import markdown, verdict

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
FOUND: dict[str, Any] = {
    "success": True, "crashed": False, "compared_rows": 12, "folder": "validations/x",
    "statistics": {"expectations": 9, "passed": 8, "blocking": 0, "warnings": 1},
    "comparisons": [{"job": "ad_ctr", "live": 1, "candidate": 2, "compared": 12,
                     "figures": {"live_clicks": 1200, "candidate_clicks": 1100}}],
    "results": [{"suite": "parity", "expectation": "equal", "says": "a|b <i>", "severity": "warn", "success": False,
                 "observed": "1 offending row", "rows": []}],
}  # fmt: skip
ASKED = Replay(
    uuid4(), "run", {"ad_ctr": 2}, {"ad_ctr": 1}, None, Parity.EXACT, (), Approval.ASK, True, "ann", "why",
    {"records": 5}, FOUND,
)  # fmt: skip
PURSUIT = Pursuit({"ad_ctr": 2}, 5, NOON, NOON + timedelta(hours=1))
WORKING, READY = (Progress(s, 1, 2, 3.0, None, "so far") for s in (CatchUp.HYDRATING, CatchUp.READY))


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[Replay]:
    """The replay of the running task, the newest last; what it noted is appended."""
    replays = [ASKED]

    def note_answer(_: object, answer: Answer, by: Any) -> Replay:
        if replays[-1].answer is None:
            replays.append(replace(replays[-1], answer=answer, answered_by=by.actor))
        return replays[-1]

    platform = SimpleNamespace(
        releases=SimpleNamespace(note_answer=note_answer), registry=SimpleNamespace(now=lambda: NOON), settings=None
    )
    author = SimpleNamespace(run_id="run", reason=None)

    @contextmanager
    def conducting(verb: str) -> Iterator[Any]:
        yield SimpleNamespace(platform=platform, author=author, say=lambda said: said, run=None)

    for module in (asking, catch_up):
        monkeypatch.setattr(module, "conducting", conducting)
    monkeypatch.setattr(reprocess, "of_run", lambda *_: replays[-1])
    monkeypatch.setattr(asking, "users", lambda: ("ann", "bob"))
    monkeypatch.setattr(asking, "taken", lambda *_: None)
    monkeypatch.setattr("airflow.providers.standard.operators.hitl.upsert_hitl_detail", lambda **_: None)
    return replays


def operator(monkeypatch: pytest.MonkeyPatch, skipped: list[Any]) -> Any:
    made = asking.AskOperator(task_id="approve", verb="reprocess")
    monkeypatch.setattr(type(made), "skip", lambda _, ti, tasks: skipped.extend(tasks))
    return made


def context(task: Any) -> Any:
    after = [SimpleNamespace(is_teardown=False), SimpleNamespace(is_teardown=True)]
    fake = SimpleNamespace(get_direct_relatives=lambda upstream: after)
    ti = SimpleNamespace(id=uuid4())
    return {"task": fake, "ti": ti, "task_instance": ti}


def test_whoever_did_not_ask_is_asked_with_the_report(monkeypatch: pytest.MonkeyPatch, noted: list[Replay]) -> None:
    ask = operator(monkeypatch, [])
    with pytest.raises(TaskAwaitingInput):
        ask.execute(context(ask))
    assert ask.assigned_users == [{"id": "bob", "name": "bob"}]
    assert ask.subject == "Promote ad_ctr v2?"
    assert "12 rows compared; 8 of 9 expectations met, 0 block, 1 warn." in ask.body
    assert "| clicks | 1,200 | 1,100 | -100 |" in ask.body
    assert "| report | validations/x/report.html |" in ask.body
    assert len(noted) == 1


@pytest.mark.parametrize(
    "replay", [replace(ASKED, approval=Approval.AUTO), replace(ASKED, promote=False), replace(ASKED, ended=True)]
)
def test_where_nobody_has_to_agree_nobody_is_asked(
    monkeypatch: pytest.MonkeyPatch, noted: list[Replay], replay: Replay
) -> None:
    noted.append(replay)
    skipped: list[Any] = []
    ask = operator(monkeypatch, skipped)
    assert ask.execute(context(ask)) == "nobody is asked"
    assert skipped == []


@pytest.mark.parametrize(
    ("chosen", "user", "timedout", "answer", "who", "skips"),
    [
        ("Approve", {"id": "bob", "name": "bob"}, False, Answer.APPROVED, "bob", 0),
        ("Reject", {"id": "bob", "name": "bob"}, False, Answer.REJECTED, "bob", 1),
        ("Reject", None, True, Answer.TIMED_OUT, "nobody", 1),
    ],
)
def test_the_answer_is_noted_and_a_no_skips_the_promotion_only(
    monkeypatch: pytest.MonkeyPatch, noted: list[Replay],
    chosen: str, user: Any, timedout: bool, answer: Answer, who: str, skips: int,
) -> None:  # fmt: skip
    skipped: list[Any] = []
    ask = operator(monkeypatch, skipped)
    ask.execute_complete(context(ask), {"chosen_options": [chosen], "responded_by_user": user, "timedout": timedout})
    assert (noted[-1].answer, noted[-1].answered_by, len(skipped)) == (answer, who, skips)
    again = ask.execute(context(ask))
    assert again.startswith(answer.value), "run again, it does not ask again"
    assert len(skipped) == 2 * skips


def test_an_answer_that_airflow_took_and_lost_counts_and_is_not_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, noted: list[Replay]
) -> None:
    told = {"chosen_options": ["Approve"], "responded_by_user": {"id": "bob", "name": "bob"}}
    monkeypatch.setattr(asking, "taken", lambda *_: told)
    ask = operator(monkeypatch, [])
    assert ask.execute(context(ask)) == "approved by bob"
    assert (noted[-1].answer, noted[-1].answered_by) == (Answer.APPROVED, "bob")


def test_a_report_cannot_break_out_of_its_table() -> None:
    text = markdown(ASKED)
    assert "a\\|b &lt;i>" in text
    assert "| would serve | ad_ctr v2 |" in text
    assert verdict({"success": False, "crashed": True, "problem": "The validation crashed: x"}).endswith("x")
    assert "nothing to compare" in verdict({"success": False, "crashed": False, "compared_rows": 0})
    against = FOUND | {"success": False, "results": [FOUND["results"][0] | {"severity": "block"}]}
    assert verdict(against) == "12 rows were compared; not met: parity: a|b <i> (1 offending row)"


def test_a_catch_up_waits_in_the_triggerer_until_its_own_deadline(
    monkeypatch: pytest.MonkeyPatch, noted: list[Replay]
) -> None:
    monkeypatch.setattr(reprocess, "pursue", lambda *_: PURSUIT)
    with pytest.raises(TaskDeferred) as deferred:
        catch_up.CatchUpOperator(task_id="catch_up", verb="reprocess").execute({})
    trigger: Any = deferred.value.trigger
    assert trigger.pursuit == PURSUIT.to_json()
    assert deferred.value.timeout == timedelta(hours=1) + catch_up.MARGIN
    path, arguments = trigger.serialize()
    assert import_string(path)(**arguments).pursuit == trigger.pursuit
    monkeypatch.setattr(reprocess, "pursue", lambda *_: None)
    assert "already" in catch_up.CatchUpOperator(task_id="catch_up", verb="reprocess").execute({})


def test_the_trigger_tells_one_end_whatever_breaks_meanwhile() -> None:
    script: list[Progress | Exception] = [WORKING, Unreachable("Postgres", "here", OSError("gone")), READY, READY]

    def look() -> Progress:
        seen = script.pop(0)
        if isinstance(seen, Exception):
            raise seen
        return seen

    class Scripted(CatchUpTrigger):
        def watch(self) -> Any:
            return SimpleNamespace(look=look)

    async def collect() -> list[Any]:
        return [event.payload async for event in Scripted(PURSUIT.to_json(), 0.0).run()]

    assert [Progress.from_json(payload) for payload in asyncio.run(collect())] == [READY]
    assert len(script) == 1
