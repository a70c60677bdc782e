"""The graphs that verbs of replays share: everything after the plan, in its order."""

from __future__ import annotations

from typing import Any

from kappa.core.verbs import MoveStep, ReplayStep
from kappa.operators import replaying
from kappa.operators.asking import AskOperator
from kappa.operators.catching_up import CatchUpOperator


def replay_graph(verb: str, planned: Any) -> None:
    """Stage, catch up, validate, ask, promote, under the candidates' leases; a dry run goes straight to the end."""
    chosen: Any = replaying.choose(verb, planned)
    held, given = replaying.bracket(verb, planned)
    staged = replaying.stage.override(task_id=ReplayStep.STAGE)(verb, planned)
    caught_up = CatchUpOperator(task_id=ReplayStep.CATCH_UP, verb=verb)
    valid = replaying.validate.override(task_id=ReplayStep.VALIDATE)(verb)
    asked = AskOperator(task_id=ReplayStep.APPROVE, verb=verb)
    promoted = replaying.promote.override(task_id=ReplayStep.PROMOTE)(verb)
    done = replaying.conclude(verb, planned)
    chosen >> held >> staged >> caught_up >> valid >> asked >> promoted >> done >> given
    chosen >> done


def move_graph(verb: str, planned: Any) -> None:
    """Catch up and hand over, under the leases of what is to serve; a dry run goes straight to the end."""
    chosen: Any = replaying.choose(verb, planned)
    held, given = replaying.bracket(verb, planned)
    caught_up = CatchUpOperator(task_id=MoveStep.CATCH_UP, verb=verb, planned=planned)
    moved = replaying.hand_over.override(task_id=MoveStep.HAND_OVER)(verb, planned)
    done = replaying.conclude_move.override(task_id="conclude")(verb, planned)
    chosen >> held >> caught_up >> moved >> done >> given
    chosen >> done
