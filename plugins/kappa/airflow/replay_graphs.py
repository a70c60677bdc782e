"""The graphs that verbs of replays share: everything after the plan, in its order."""

from __future__ import annotations

from typing import Any

from kappa.airflow import replay_tasks
from kappa.airflow.approval import AskOperator
from kappa.airflow.catch_up import CatchUpOperator
from kappa.core.verbs import MoveStep, ReplayStep


def replay_graph(verb: str, planned: Any) -> None:
    """Stage, catch up, validate, ask, promote, under the candidates' leases; a dry run goes straight to the end."""
    chosen: Any = replay_tasks.choose(verb, planned)
    held, given = replay_tasks.bracket(verb, planned)
    staged = replay_tasks.stage.override(task_id=ReplayStep.STAGE)(verb, planned)
    caught_up = CatchUpOperator(task_id=ReplayStep.CATCH_UP, verb=verb)
    valid = replay_tasks.validate.override(task_id=ReplayStep.VALIDATE)(verb)
    asked = AskOperator(task_id=ReplayStep.APPROVE, verb=verb)
    promoted = replay_tasks.promote.override(task_id=ReplayStep.PROMOTE)(verb)
    done = replay_tasks.conclude(verb, planned)
    chosen >> held >> staged >> caught_up >> valid >> asked >> promoted >> done >> given
    chosen >> done


def move_graph(verb: str, planned: Any) -> None:
    """Catch up and hand over, under the leases of what is to serve; a dry run goes straight to the end."""
    chosen: Any = replay_tasks.choose(verb, planned)
    held, given = replay_tasks.bracket(verb, planned)
    caught_up = CatchUpOperator(task_id=MoveStep.CATCH_UP, verb=verb, planned=planned)
    moved = replay_tasks.hand_over.override(task_id=MoveStep.HAND_OVER)(verb, planned)
    done = replay_tasks.conclude_move.override(task_id="conclude")(verb, planned)
    chosen >> held >> caught_up >> moved >> done >> given
    chosen >> done
