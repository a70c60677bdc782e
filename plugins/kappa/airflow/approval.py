"""The question whether to promote, as Airflow asks it: the report is its text, no answer is no."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import httpx
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk.configuration import conf

from kappa.airflow.run_note import signed_in
from kappa.airflow.task_context import conducting
from kappa.airflow_api import Run
from kappa.core.audit import Author
from kappa.core.refusals import Refusal
from kappa.core.replays import Answer, Approval, Replay
from kappa.core.settings import Settings
from kappa.verbs.replay import steps as reprocess
from kappa.verbs.replay.approval import answer_sentence, answerers, names
from kappa.verbs.replay.report import markdown

log = logging.getLogger(__name__)


def taken(
    settings: Settings, run: Run, task_id: str, transport: httpx.BaseTransport | None = None
) -> Mapping[str, Any] | None:
    """The answer as `execute_complete` is told of it; None where there is none, or Airflow cannot say.

    A task that is answered in the very second in which it pauses is sometimes taken for failed: the executor tells of
    the end of its first half when the second one waits already. It is then run again, and would ask again.
    """
    try:
        held = signed_in(settings, transport).question(run, task_id)
    except Refusal as problem:
        log.warning("not known whether there is an answer already, so it is asked: %s", problem)
        return None
    if held is None or not held["response_received"]:
        return None
    told = {name: held[name] for name in ("chosen_options", "responded_by_user")}
    return {**told, "timedout": told["responded_by_user"] is None}


LOOKS_ONLY = "viewer"
ANSWER_TIMEOUT = timedelta(hours=12)
"""The longest that a question stays open; then it is answered by no."""


class AskOperator(ApprovalOperator):
    """Asks whether the run's candidates are to serve, where policy or form say so; else it succeeds at once.

    Answer and answerer are noted in the replay, and the first answer counts. A no skips what comes next, and the run
    goes on to its end. Run again after the answer, it does not ask again, also where Airflow has lost it on the way.
    """

    def __init__(self, *, verb: str, **given: Any) -> None:
        asked = {"subject": "Promote?", "defaults": self.REJECT, "response_timeout": ANSWER_TIMEOUT}
        super().__init__(**{**asked, **given})
        self.verb = verb

    def execute(self, context: Any) -> Any:
        """Ask, and wait without a worker's slot; the answer, where none is needed or it is known."""
        with conducting(self.verb) as run:
            replay = reprocess.of_run(run.platform, run.author)
            if replay.answer is None and not replay.ended and is_asked(replay):
                self._phrase(replay)
                waits = f"{names(replay)} passed the validation; until {ANSWER_TIMEOUT} from now it waits for an answer"
                run.say(f"{waits} by {', '.join(_may_answer(replay)) or 'anybody'}.")
        if replay.answer is not None or replay.ended or not is_asked(replay):
            return self._go_on(context, replay)
        known = taken(run.platform.settings, run.run, self.task_id)
        return super().execute(context) if known is None else self.execute_complete(context, dict(known))

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        """Note the answer; a no skips what comes next."""
        with conducting(self.verb) as run:
            replay = reprocess.of_run(run.platform, run.author)
            answer, who = read(event, self.APPROVE)
            by = Author(who or "nobody", run.author.run_id, run.author.reason)
            replay = run.platform.releases.note_answer(replay.replay_id, answer, by)
        return self._go_on(context, replay)

    def _phrase(self, replay: Replay) -> None:
        self.subject, self.body = f"Promote {names(replay)}?", markdown(replay)
        self.assigned_users = [{"id": name, "name": name} for name in _may_answer(replay)] or None

    def _go_on(self, context: Any, replay: Replay) -> str:
        if replay.answer in (Answer.REJECTED, Answer.TIMED_OUT):
            following = context["task"].get_direct_relatives(upstream=False)
            self.skip(ti=context["ti"], tasks=[task for task in following if not task.is_teardown])
        return answer_sentence(Answer(replay.answer), replay.answered_by) if replay.answer else "nobody is asked"


def is_asked(replay: Replay) -> bool:
    """Whether somebody has to agree."""
    return replay.promote and replay.approval is Approval.ASK


def read(event: Mapping[str, Any], approve: str) -> tuple[Answer, str | None]:
    """The answer that Airflow hands back, and whose it is; None: nobody's, for the time was over."""
    user = event.get("responded_by_user")
    who = user.get("name") if isinstance(user, Mapping) else getattr(user, "name", None)
    if event.get("timedout"):
        return Answer.TIMED_OUT, None
    return (Answer.APPROVED if list(event["chosen_options"]) == [approve] else Answer.REJECTED), who


def users() -> tuple[str, ...]:
    """Airflow's users who may do more than look, where its own configuration knows them; else none."""
    listed = conf.get("core", "simple_auth_manager_users", fallback="") or ""
    pairs = (entry.strip().partition(":") for entry in listed.split(",") if entry.strip())
    return tuple(name for name, _, role in pairs if role != LOOKS_ONLY)


def _may_answer(replay: Replay) -> tuple[str, ...]:
    known = users()
    return answerers(replay.asked_by, known) if known else ()
