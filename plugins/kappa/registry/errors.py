"""The refusals of the registry: somebody else was faster."""

from __future__ import annotations

from kappa.core.changes import Change
from kappa.core.leases import Lease
from kappa.core.refusals import Refusal


class StagedByAnother(Refusal):
    """Two deployments of a job made the same version at once."""

    def __init__(self, job: str, version: int, run_id: str) -> None:
        super().__init__(
            f"{job} v{version} was just staged by run {run_id}; this run changed nothing. "
            f"Follow that run, or try again when it has ended."
        )


class UnderWay(Refusal):
    """Another run holds the version."""

    def __init__(self, lease: Lease) -> None:
        super().__init__(
            f"{lease.sentence()}; this run changed nothing. Follow that run, or try again when it has ended."
        )


class Unsettled(Refusal):
    """An earlier run left a change of the version half done."""

    def __init__(self, change: Change) -> None:
        super().__init__(
            f"{change.name} has an unfinished {change.verb} of run {change.run_id} (phase {change.phase}); this run "
            f"changed nothing. Settle it first: ./kappa repair {change.job}."
        )


class ServedByAnother(Refusal):
    """A job's windows are served by another version already, so this is no first deployment."""

    def __init__(self, job: str, version: int, serving: int) -> None:
        super().__init__(
            f"{job} is served by v{serving} already, v{version} does not go live by a deployment; "
            "nothing was changed. "
            f"Promote it once it has been validated."
        )


class UnknownVersion(Refusal):
    """The registry holds no such version."""

    def __init__(self, job: str, version: int) -> None:
        super().__init__(
            f"there is no {job} v{version} in the registry; nothing was changed. Look with './kappa status'."
        )
