"""The closed vocabulary of a version's life: its states, the transitions between them, and the desired
state."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from kappa.core.refusals import Refusal


class State(StrEnum):
    """Where a version is in its life (architecture, section 4)."""

    STAGED = "STAGED"
    CATCHING_UP = "CATCHING_UP"
    CAUGHT_UP = "CAUGHT_UP"
    LIVE = "LIVE"
    PREVIOUS = "PREVIOUS"
    RETIRED = "RETIRED"
    FAILED = "FAILED"


class Desired(StrEnum):
    """What an operator wants of a version's driver; kept until changed."""

    RUNNING = "running"
    STOPPED = "stopped"


OVER = frozenset({State.RETIRED, State.FAILED})
"""States in which no driver runs and none is started by itself."""

TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.STAGED: frozenset({State.CATCHING_UP, State.LIVE, State.RETIRED, State.FAILED}),
    State.CATCHING_UP: frozenset({State.CAUGHT_UP, State.RETIRED, State.FAILED}),
    State.CAUGHT_UP: frozenset({State.CATCHING_UP, State.LIVE, State.RETIRED, State.FAILED}),
    State.LIVE: frozenset({State.PREVIOUS, State.FAILED}),
    State.PREVIOUS: frozenset({State.LIVE, State.RETIRED, State.FAILED}),
    State.FAILED: frozenset({State.LIVE, State.RETIRED}),
    State.RETIRED: frozenset(),
}
"""From each state, the states that may follow. STAGED to LIVE is a job's first deployment: there is nothing
to catch up with. FAILED to LIVE is an operator's restart of the version that serves."""


class IllegalTransition(Refusal):
    """A version was to take a state that cannot follow the one it has."""

    def __init__(self, job: str, version: int, old: State, new: State) -> None:
        allowed = ", ".join(sorted(TRANSITIONS[old])) or "none"
        super().__init__(
            f"{job} v{version} is {old} and cannot become {new} (allowed: {allowed}); nothing was changed. "
            f"Look at it with './kappa status'."
        )


def check_transition(job: str, version: int, old: State, new: State) -> None:
    """Pass when `new` may follow `old`, or is the same. Raises IllegalTransition."""
    if old != new and new not in TRANSITIONS[old]:
        raise IllegalTransition(job, version, old, new)
