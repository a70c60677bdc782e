"""One thing that is tried on an installation, and what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psycopg

from kappa.core.installation.findings import Finding
from kappa.core.refusals import Refusal
from kappa.unavailable import Unreachable

START = (
    "On one's own machine './kappa up' starts it. Elsewhere see that it runs, and that its address, its authority and "
    "the secrets are those of the settings."
)
"""The remedy for a part that does not answer: that `doctor` tells more, as it says elsewhere, is no help here."""


class Wrong(Refusal):
    """What was tried is not as it has to be; `remedy` says what to do about it."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.remedy = remedy


@dataclass(frozen=True)
class Trial:
    """`act` tries `what` of a part: it returns a few words on what it found, or raises a Refusal, an OSError or
    an error of psycopg. `secret` is the file of the secrets folder that it goes by, if it does."""

    part: str
    what: str
    act: Callable[[], str]
    secret: str = ""


@dataclass(frozen=True)
class Tried:
    """A trial that is over: what it found, or what is wrong."""

    part: str
    what: str
    found: str
    finding: Finding | None = None


def carry_out(trial: Trial) -> Tried:
    """Try it. What it raises becomes a finding: a Wrong with its own remedy, a part that does not answer
    with that for all of them, any other with what its words say."""
    try:
        return Tried(trial.part, trial.what, trial.act())
    except Wrong as wrong:
        return _failed(trial, str(wrong), wrong.remedy)
    except Unreachable as silent:
        return _failed(trial, silent.silence, START)
    except (Refusal, OSError, psycopg.Error) as error:
        return _failed(trial, " ".join(str(error).split()) or type(error).__name__, "")


def findings(tried: list[Tried]) -> Iterator[Finding]:
    """What is wrong, in the order in which it was tried."""
    return (one.finding for one in tried if one.finding is not None)


def _failed(trial: Trial, problem: str, remedy: str) -> Tried:
    return Tried(trial.part, trial.what, "", Finding(f"{trial.part}: {trial.what}", problem, remedy))
