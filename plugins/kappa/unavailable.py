"""The one refusal for an outside system that does not answer; worth another try, unlike every other
refusal."""

from __future__ import annotations

from kappa.core.refusals import Refusal


class Unreachable(Refusal):
    """A part of the stack does not answer."""

    def __init__(self, part: str, address: str, problem: object) -> None:
        why = " ".join(str(problem).split())
        super().__init__(f"{part} at {address} does not answer ({why}). Is the stack up? Run ./kappa up.")
