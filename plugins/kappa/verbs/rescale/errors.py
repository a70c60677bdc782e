"""The refusals of a rescale, one per cause; all of them before anything is touched."""

from __future__ import annotations

from kappa.core.refusals import Refusal
from kappa.core.versions import State


class NothingAsked(Refusal):
    """Neither number was given."""

    def __init__(self, job: str) -> None:
        super().__init__(
            f"a rescale of {job} needs a number; nothing was changed. "
            f"Give one or both: ./kappa rescale {job} --partitions N --cores N."
        )


class VersionFailed(Refusal):
    """The version gave up: its driver is not known to be well, so its checkpoint is left alone."""

    def __init__(self, job: str, version: int) -> None:
        super().__init__(
            f"{job} v{version} has given up (FAILED) and is not rescaled; nothing was changed. See why with "
            f"'./kappa status --job {job}', start it with './kappa start {job}', then rescale."
        )


class NotServing(Refusal):
    """The version is not yet, or no longer, one that a rescale may touch."""

    def __init__(self, job: str, version: int, state: State) -> None:
        super().__init__(
            f"{job} v{version} is {state}: a rescale needs a version that has caught up or serves; nothing was "
            f"changed. Wait until its deployment or replay has ended ('./kappa status --job {job}')."
        )


class StatelessJob(Refusal):
    """The job keeps no state that could be partitioned."""

    def __init__(self, job: str, partitions: int) -> None:
        super().__init__(
            f"{job} keeps no state, so it cannot have {partitions} state partitions; nothing was changed. "
            f"Its cores can be rescaled: ./kappa rescale {job} --cores N."
        )


class NothingToRepartition(Refusal):
    """The version has no checkpoint with state yet."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} has committed no state yet that could be repartitioned; nothing was changed. "
            "Rescale it after its first batch."
        )


class CountsDisagree(Refusal):
    """Registry and checkpoint do not agree on the present number of partitions."""

    def __init__(self, job: str, name: str, recorded: int, found: int) -> None:
        super().__init__(
            f"{name} has {recorded} state partitions by the registry and {found} by its checkpoint: something else "
            "than a rescale wrote one of them. Nothing was changed. Replay the log into a new version: "
            f"./kappa reprocess {job} --from earliest."
        )


class TooFewFreeCores(Refusal):
    """The worker could not place the driver: it would wait for ever."""

    def __init__(self, job: str, wanted: int, free: int) -> None:
        super().__init__(
            f"{job} would take {wanted} cores of the worker, which has {free} for it; nothing was changed. Give at "
            f"most that many (./kappa rescale {job} --cores N), or raise worker_cores in kappa.toml."
        )


class OldArtifact(Refusal):
    """The version runs code from before rescales."""

    def __init__(self, job: str, name: str, artifact: str) -> None:
        super().__init__(
            f"{name} runs artifact {artifact}, which was built before state could be moved: it has no repartition. "
            f"Nothing was changed. Deploy newer code in place first (./kappa deploy {job}), then rescale."
        )
