"""kill -9 of what works on a step of a replay's run in Airflow."""

from __future__ import annotations

from tests.integration.injected import kill
from tests.integration.replays.attempts import LONGEST_SECONDS, Attempt

STEPS = ("plan", "lease", "stage", "catch_up", "validate", "approve", "promote", "conclude")
"""The tasks of the run that do something, in their order."""
ANSWERED = STEPS[STEPS.index("approve") + 1 :]
"""Those that come after the answer."""
WAITED_BY = {"deferred": "triggerer", "awaiting_input": "scheduler"}
"""Who has to notice that a task which waits can go on."""


def approve_and_kill(attempt: Attempt, step: str, *others: str) -> None:
    """Approve, and kill what works on the step, or on the first later one that is met, and each process with one of the
    other words in its command line."""
    if step in ANSWERED:
        attempt.answer("Approve")
    print(f"{attempt.reason}: killed", _kill_in(attempt, step, others))
    if step not in ANSWERED:
        attempt.answer("Approve")


def _kill_in(attempt: Attempt, step: str, others: tuple[str, ...]) -> str:
    """What was killed. The last steps may be over sooner than they are met."""
    killed: list[str] = []

    def met() -> bool:
        found = [task for task in attempt.tasks() if task[0] in STEPS[STEPS.index(step) :]]
        killed.extend(name for name in (_kill(attempt, task, others) for task in found[:1]) if name)
        return bool(killed or attempt.results)

    attempt.stack.until(f"{step} of '{attempt.reason}' can be killed", met, LONGEST_SECONDS)
    assert killed or step in ANSWERED, f"nothing of '{attempt.reason}' was met: {attempt.results}"
    return killed[0] if killed else "nothing: it was over"


def _kill(attempt: Attempt, task: tuple[str, str, str], others: tuple[str, ...]) -> str | None:
    """A task's own process; of one that waits, who waits for it."""
    step, state, name = task
    if not kill(attempt.stack, WAITED_BY.get(state, f"airflow worker -- {name}")):
        return None
    return f"{step} ({state}), and {[kill(attempt.stack, other) for other in others]} of {others}"
