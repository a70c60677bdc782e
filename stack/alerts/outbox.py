"""The messages that are still to be delivered: which are due, and what a try that succeeded or failed leaves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

FIRST_PAUSE_SECONDS = 15.0
LONGEST_PAUSE_SECONDS = 900.0
GIVEN_UP_SECONDS = 86_400.0
PASSED_AFTER_TRIES = 5
"""A message that a target took none of so many times, over some minutes, is perhaps one that it will never take: the
later ones no longer wait for it."""


@dataclass(frozen=True)
class Letter:
    """One message to one target; times are epoch seconds. `is_over`: it says that the incident is over."""

    target: str
    incident: int
    is_over: bool
    title: str
    body: str
    written: float
    not_before: float
    tries: int = 0


Outbox = tuple[Letter, ...]


def post(outbox: Outbox, letters: Iterable[Letter]) -> Outbox:
    """The outbox with new letters. One that an incident is over takes the place of one that it has begun, if that was
    not delivered: nobody is told first that something was wrong and then that it is not."""
    held = list(outbox)
    for letter in letters:
        if letter.is_over:
            held = [old for old in held if (old.target, old.incident) != (letter.target, letter.incident)]
        held.append(letter)
    return tuple(held)


def due(outbox: Outbox, at: float) -> list[Letter]:
    """The letters to try now: of each target the oldest that may go, unless an older one waits for its next try and
    was not tried PASSED_AFTER_TRIES times."""
    first: dict[str, Letter] = {}
    for letter in outbox:
        if letter.not_before <= at or 0 < letter.tries < PASSED_AFTER_TRIES:
            first.setdefault(letter.target, letter)
    return [letter for letter in first.values() if letter.not_before <= at]


def delivered(outbox: Outbox, letter: Letter) -> Outbox:
    """The outbox without this letter."""
    return tuple(held for held in outbox if held != letter)


def failed(outbox: Outbox, letter: Letter, at: float) -> Outbox:
    """The outbox in which this letter is tried again later: pauses double up to LONGEST_PAUSE_SECONDS. After a day it
    is given up."""
    if at - letter.written > GIVEN_UP_SECONDS:
        return delivered(outbox, letter)
    pause = min(FIRST_PAUSE_SECONDS * 2**letter.tries, LONGEST_PAUSE_SECONDS)
    again = replace(letter, tries=letter.tries + 1, not_before=at + pause)
    return tuple(again if held == letter else held for held in outbox)
