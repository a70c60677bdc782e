"""What must hold of a version and its state before a rescale, and what is refused where it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kappa.core.checkpoint.repartitionable import check_repartitionable
from kappa.core.job_catalog import STATE_PARTITIONS, Job
from kappa.core.refusals import Refusal
from kappa.core.serialization import Serializable
from kappa.core.versions import State, Version
from kappa.verbs.desired import Found
from kappa.verbs.stop.plan import NothingDeployed

RESCALABLE = frozenset({State.CAUGHT_UP, State.LIVE, State.PREVIOUS})
"""States of a version whose first start or replay is over; before that, another verb is at work on it."""


class NothingAsked(Refusal):
    """No number was given."""

    def __init__(self, job: str) -> None:
        super().__init__(
            f"a rescale of {job} needs a number; nothing was changed. "
            f"Give one or more: ./kappa rescale {job} --partitions N --executors N --cores N."
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
            f"Its cores can be rescaled: ./kappa rescale {job} --executors N --cores N."
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


@dataclass(frozen=True)
class StateFacts(Serializable):
    """What the checkpoint says of the state: its provider (a class name), stateful operators, number of partitions,
    rows and bytes (None: not known), and whether a batch was planned and not committed."""

    provider: str
    operators: tuple[str, ...]
    partitions: int
    rows: int | None
    bytes: int | None
    pending: bool


def rescalable(job: Job, numbers: Mapping[str, int], found: Found) -> Version:
    """The version of the job that is meant, if it may be rescaled to these numbers, by setting, at all.

    Raises NothingAsked, NothingDeployed, VersionFailed, NotServing, StatelessJob.
    """
    current = found.current()
    if not numbers:
        raise NothingAsked(job.name)
    if current is None:
        raise NothingDeployed(job.name)
    if current.state is State.FAILED:
        raise VersionFailed(job.name, current.version)
    if current.state not in RESCALABLE:
        raise NotServing(job.name, current.version, current.state)
    if STATE_PARTITIONS in numbers and not job.stateful:
        raise StatelessJob(job.name, numbers[STATE_PARTITIONS])
    return current


def check_state(current: Version, state: StateFacts | None) -> None:
    """Pass when this state can be repartitioned; Spark would find out only after it has spoilt the checkpoint.

    Raises NothingToRepartition, CountsDisagree, UnsupportedProvider, UnsupportedOperator.
    """
    job, name = current.job, f"{current.job} v{current.version}"
    if state is None or not state.operators:
        raise NothingToRepartition(name)
    if state.partitions != current.settings[STATE_PARTITIONS]:
        raise CountsDisagree(job, name, current.settings[STATE_PARTITIONS], state.partitions)
    check_repartitionable(job, f"v{current.version}", state.provider, state.operators)
