"""Catching up as an Airflow task: it starts the drivers, then waits in the triggerer, without a worker's slot."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import BaseOperator

from kappa.airflow.catch_up_trigger import CatchUpTrigger
from kappa.airflow.task_context import Conduct, conducting
from kappa.core.installation.needs import REPLAY_POOL
from kappa.verbs.promote.steps import MovePlan
from kappa.verbs.replay import catch_up
from kappa.verbs.replay import steps as reprocess
from kappa.verbs.replay.catch_up import Pursuit
from kappa.verbs.replay.progress import Progress

MARGIN = timedelta(minutes=10)
"""How much longer than the pursuit's own deadline Airflow waits: the deadline is an end with a reason."""


class CatchUpOperator(BaseOperator):
    """Lets a run's candidates, or the targets of a plan made by hand (`planned`), catch up; the sentence.

    The pool bounds how many replays catch up at once, also while they are waited for; a roll-back waits for none.
    Raises NeverReady, ReplayOver, NotHolder.
    """

    template_fields = ("planned",)

    def __init__(self, *, verb: str, planned: Any = None, **given: Any) -> None:
        placed: dict[str, Any] = {"pool": REPLAY_POOL.name} if planned is None else {}
        super().__init__(**{**placed, **given})
        self.verb, self.planned = verb, planned

    def execute(self, context: Any) -> str:
        """Start the drivers and wait for them. Raises as the class says."""
        with conducting(self.verb) as run:
            pursuit = self._pursue(run)
            now = run.platform.registry.now()
        if pursuit is None:
            return "this run has come to its end already"
        patience = max(pursuit.deadline - now, timedelta()) + MARGIN
        self.defer(trigger=CatchUpTrigger(pursuit.to_json()), method_name="execute_complete", timeout=patience)
        raise AssertionError("a deferral does not return")

    def execute_complete(self, context: Any, event: dict[str, Any]) -> str:
        """Take the end that the trigger told of. Raises as the class says."""
        progress = Progress.from_json(event)
        with conducting(self.verb) as run:
            if self.planned is None:
                reprocess.reached(run.platform, self.verb, progress, run.author)
            else:
                targets = MovePlan.from_json(self.planned).hand.targets
                catch_up.caught_up(run.platform, self.verb, targets, progress, run.author)
        return progress.sentence

    def _pursue(self, run: Conduct) -> Pursuit | None:
        if self.planned is None:
            return reprocess.pursue(run.platform, self.verb, run.author)
        plan = MovePlan.from_json(self.planned)
        targets, since = plan.hand.targets, plan.planned_at
        return catch_up.launch(run.platform, self.verb, targets, 0, plan.eta_seconds, run.author, since)
