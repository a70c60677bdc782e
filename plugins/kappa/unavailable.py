"""The one refusal for an outside system that does not answer; worth another try, unlike every other
refusal."""

from __future__ import annotations

from kappa.core.refusals import Refusal


class Unreachable(Refusal):
    """A part of the stack does not answer; `silence` says so without the remedy."""

    def __init__(self, part: str, address: str, problem: object) -> None:
        why = " ".join(str(problem).split())
        self.silence = f"{part} at {address} does not answer ({why})"
        super().__init__(
            f"{self.silence}. On one's own machine ./kappa up starts it; elsewhere ./kappa doctor tells what is in the "
            "way."
        )
