"""The refusal where Postgres answers and has no registry, or one that this code is newer than."""

from __future__ import annotations

from kappa.core.refusals import Refusal


class NoRegistry(Refusal):
    """Postgres answers, and has no registry as this code knows it: the migrations did not run yet, or were cut short.
    `part` is the process of the stack that it is told of."""

    part = "postgres"

    def __init__(self, why: object) -> None:
        said = " ".join(str(why).split())
        super().__init__(
            f"{self.part} has no registry, or an older one: {said}. './kappa up' makes it what it is, or elsewhere "
            "'./kappa db migrate'"
        )
