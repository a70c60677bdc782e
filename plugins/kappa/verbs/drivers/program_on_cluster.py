"""A finite Spark program on the cluster: submitted once, and followed to its end, also by another than who began."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from kappa.cluster import ALIVE, DriverState
from kappa.core.changes import Attempt, Change
from kappa.platform import Platform, pause_seconds
from kappa.unavailable import Unreachable
from kappa.verbs.drivers import finite_program
from kappa.verbs.drivers.finite_program import EndedWithoutWord, Program

POLL_SECONDS = 1.0
PLACE_SECONDS = 60.0
"""So long a program may wait for a host; somebody else may have taken the room that was there."""
Say = Callable[[str], None]


class NotPlaced(Exception):  # noqa: N818 - it is what happened
    """No host had room for a program in time; it was taken back."""

    def __init__(self, program: Program) -> None:
        super().__init__(f"no host of the cluster had room for the {program} within {PLACE_SECONDS:.0f} s")


def running(platform: Platform, change: Change, program: Program, say: Say) -> Attempt | None:
    """The attempt that an earlier follower left running. Raises Unreachable."""
    found = platform.registry.attempt(change.change_id, program)
    if not (found and found.submission_id and found.outcome is None and _state(platform, found) in ALIVE):
        return None
    say(f"the {program} runs on the cluster already, as {found.submission_id}")
    return found


def start(platform: Platform, change: Change, program: Program, say: Say) -> Attempt:
    """A new attempt, submitted. Raises Unreachable, SubmissionRefused, NoSparkJar, NoEnvironment."""
    attempt_id = uuid4()
    finite_program.begin(platform, change, program, attempt_id)
    request = finite_program.finite_submission(platform.settings, change, program, attempt_id)
    submitted = platform.cluster.submit(request)
    platform.registry.record_attempt(attempt_id, submitted)
    say(f"the {program} was submitted to the cluster, as {submitted}")
    return Attempt(attempt_id, submitted)


def follow(platform: Platform, change: Change, program: Program, attempt: Attempt, say: Say) -> None:
    """Wait until an attempt has left its outcome. What does not answer meanwhile is asked again: the program runs on.

    Raises EndedWithoutWord; NotPlaced.
    """
    told, begun = "", platform.clock.monotonic()
    while True:
        try:
            # The state comes first: what ends after it may have left its outcome since.
            state = _state(platform, attempt)
            newest = platform.registry.attempt(change.change_id, program)
            if newest is None or newest.attempt_id != attempt.attempt_id:
                raise EndedWithoutWord(program, "another attempt has followed it")
            if newest.outcome is not None:
                return
            if state not in ALIVE:
                raise EndedWithoutWord(program, f"its driver {attempt.submission_id} is {state}")
            if state is DriverState.SUBMITTED and platform.clock.monotonic() - begun > PLACE_SECONDS:
                end(platform, attempt)
                raise NotPlaced(program)
            now = f"the {program} on the cluster is {state}"
        except Unreachable as away:
            now = f"the {program} runs on: {away}"
        if now != told:
            say(now)
            told = now
        platform.clock.sleep(pause_seconds(platform.clock.monotonic() - begun, POLL_SECONDS))


def end(platform: Platform, attempt: Attempt) -> None:
    """End an attempt at once. Raises Unreachable."""
    platform.cluster.kill(attempt.attempt_id, _names(attempt))


def _state(platform: Platform, attempt: Attempt) -> DriverState:
    return platform.cluster.state(attempt.attempt_id, _names(attempt))


def _names(attempt: Attempt) -> list[str]:
    return [attempt.submission_id] if attempt.submission_id else []
