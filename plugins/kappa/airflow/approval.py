"""The question whether to promote, as Airflow asks it: the report is its text, no answer is no."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.providers.standard.triggers.hitl import HITLTrigger
from airflow.sdk.exceptions import TaskAwaitingInput

from kappa.airflow.task_context import Conduct, conducting
from kappa.core.audit import Author, Entry
from kappa.core.replays import APPROVAL_REFUSED, Answer, Approval, Replay
from kappa.verbs.replay import steps as reprocess
from kappa.verbs.replay.approval_text import markdown
from kappa.verbs.replay.approvers import NobodyAnswered, OwnRequest, answer_sentence, check_approver, names, user_of

ANSWER_TIMEOUT = timedelta(hours=12)
"""The longest that a question stays open; then it is answered by no."""


REFUSED = APPROVAL_REFUSED
ASKED_UNTIL = "asked_until"
"""What the task keeps between its tries: the question is there, and until when it stays open."""


class AskOperator(ApprovalOperator):
    """Asks whether the run's candidates are to serve, where policy or form say so; else it succeeds at once.

    Who may answer is Airflow's to say: whoever may edit questions (`HITL_DETAIL`), by the auth manager that runs. Who
    asked for the replay may not approve it: that answer is refused, and the question asked again. The first answer that
    holds is noted in the replay. A no skips what comes next, and the run goes on to its end.
    """

    def __init__(self, *, verb: str, **given: Any) -> None:
        asked = {"subject": "Promote?", "defaults": self.REJECT, "response_timeout": ANSWER_TIMEOUT}
        super().__init__(**{**asked, **given})
        self.verb = verb

    def execute(self, context: Any) -> Any:
        """Ask, and wait without a worker's slot; the answer, where none is needed or it is known."""
        asked = context["task_state_store"].get(ASKED_UNTIL) is not None
        with conducting(self.verb) as run:
            replay = reprocess.of_run(run.platform, run.author)
            if replay.answer is None and not replay.ended and is_asked(replay) and not asked:
                run.say(f"{names(replay)} passed the validation and waits for an answer by {may_answer(replay)}.")
        if replay.answer is not None or replay.ended or not is_asked(replay):
            return self._go_on(context, replay)
        return self._wait_for_the_asked(context) if asked else self._ask(context, replay)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        """Note the answer; a no skips what comes next. What the asker approved is asked again."""
        with conducting(self.verb) as run:
            replay = reprocess.of_run(run.platform, run.author)
            answer, who = read(event, self.APPROVE)
            by = Author(who or "nobody", run.author.run_id, run.author.reason)
            holds = self._holds(run, replay, answer, who, by)
            if holds:
                replay = run.platform.releases.note_answer(replay.replay_id, answer, by)
        return self._go_on(context, replay) if holds else self._ask(context, replay)

    def _ask(self, context: Any, replay: Replay) -> NoReturn:
        """Ask, or ask again, until the time at which the first question ends; an answer to the last one is dropped."""
        self.subject, self.body, self.response_timeout = (
            f"Promote {names(replay)}?",
            markdown(replay),
            self._left(context),
        )
        try:
            super().execute(context)
        except TaskAwaitingInput:
            until = datetime.now(UTC) + self.response_timeout
            context["task_state_store"].set(ASKED_UNTIL, until.isoformat())
            raise
        raise AssertionError("Airflow's operator asks by pausing")

    def _wait_for_the_asked(self, context: Any) -> NoReturn:
        """Wait for the answer to the question of an earlier try, which to ask again would take away.

        By a trigger, which also reads what was answered meanwhile. A task that pauses and is answered in that very
        second is sometimes taken for failed: the executor tells of the end of its first half when the second one is
        queued already. So was the earlier try, perhaps, and Airflow would hand the answer to a pause at once.
        """
        until = datetime.now(UTC) + self._left(context)
        trigger = HITLTrigger(
            ti_id=context["ti"].id, options=self.options, params={}, defaults=self.defaults, timeout_datetime=until
        )
        self.defer(trigger=trigger, method_name="execute_complete")

    def _left(self, context: Any) -> timedelta:
        """How long the question stays open from now on."""
        until = context["task_state_store"].get(ASKED_UNTIL)
        if until is None:
            return self.response_timeout or ANSWER_TIMEOUT
        return max(datetime.fromisoformat(until) - datetime.now(UTC), timedelta(0))

    def _holds(self, run: Conduct, replay: Replay, answer: Answer, who: str | None, by: Author) -> bool:
        """Whether the answer counts; one that does not is told to the audit and on the run's page."""
        if answer is not Answer.APPROVED or replay.answer is not None:
            return True
        try:
            check_approver(replay, who)
        except (OwnRequest, NobodyAnswered) as refusal:
            sentence = f"{refusal} The question is asked again."
            for job, version in sorted(replay.versions.items()):
                run.platform.registry.record(Entry(by, REFUSED, job, version, {"sentence": sentence}))
            run.say(sentence)
            return False
        return True

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
    if event.get("timedout") or event.get("error_type") == "timeout":
        return Answer.TIMED_OUT, None
    return (Answer.APPROVED if list(event["chosen_options"]) == [approve] else Answer.REJECTED), who


def may_answer(replay: Replay) -> str:
    """Who may approve, for people."""
    asked = user_of(replay.asked_by)
    hours = ANSWER_TIMEOUT / timedelta(hours=1)
    return f"somebody else than {asked} whom Airflow lets answer, within {hours:g} hours"
