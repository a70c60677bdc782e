"""Restore the files of a version's checkpoint from the database's offsets, while nobody works on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kappa.core.audit import Author, Entry
from kappa.core.checkpoint import restore
from kappa.core.checkpoint.reader import checkpoint_of
from kappa.core.checkpoint.restore import Mend, Source
from kappa.core.job_catalog import STATE_PARTITIONS
from kappa.core.refusals import Refusal
from kappa.core.serialization import Serializable
from kappa.core.verb_steps import Verb
from kappa.core.versions import Version
from kappa.platform import Platform
from kappa.verbs import lease
from kappa.verbs.change.recovery import wait_free
from kappa.verbs.observation import found
from kappa.verbs.stop.plan import NothingDeployed


@dataclass(frozen=True)
class RestorePlan(Serializable):
    """What has to be done to the files of one version's checkpoint; nothing where Spark can read them all."""

    job: str
    version: int
    generation: int
    mends: Sequence[Mend]

    @property
    def name(self) -> str:
        """The checkpoint for people."""
        return f"checkpoint g{self.generation} of {self.job} v{self.version}"

    def rows(self) -> list[tuple[str, str]]:
        """The plan for people."""
        found = [(mend.file, f"{_act(mend)}: {mend.why}") for mend in self.mends]
        return [(self.name, "restored from the database's offsets" if found else "nothing is damaged"), *found]

    def sentence(self) -> str:
        """What was done, once it was."""
        if not self.mends:
            return f"{self.name}: every file can be read; nothing was changed."
        acts = "; ".join(f"{mend.file} {_act(mend)} ({mend.why})" for mend in self.mends)
        return f"{self.name}: {acts}. Go on with './kappa start {self.job}'."


def _act(mend: Mend) -> str:
    return "taken away" if mend.text is None else "written again"


VERB = Verb.REPAIR


class Driven(Refusal):
    """A driver may be at work on the checkpoint."""

    def __init__(self, job: str, version: int) -> None:
        super().__init__(
            f"{job} v{version} has an open launch, so a driver may be at work on its checkpoint. Nothing was touched. "
            f"Stop it with './kappa stop {job}', then try again."
        )


def plan_restore(platform: Platform, job: str) -> RestorePlan:
    """What would be done to the checkpoint of the job's current version. Changes nothing.

    Raises NothingDeployed, NotRestorable, CheckpointLost, DatabaseBehind, ForeignCheckpoint.
    """
    version = _current(platform, job)
    mends = restore.plan(checkpoint_of(platform.settings, version), _source(platform, version))
    return RestorePlan(version.job, version.version, version.generation, mends)


def carry_out(platform: Platform, job: str, by: Author) -> str:
    """Plan and do it, under the run's lease; what was done is in the audit. Raises as `plan_restore`, and Driven,
    CheckpointHeld, NotHolder."""
    number = lease.target(platform, job)
    lease.check(platform, job, number, by)
    if platform.registry.open_launch(job, number) is not None:
        raise Driven(job, number)
    wait_free(platform, job, number)
    plan = plan_restore(platform, job)
    restore.carry_out(checkpoint_of(platform.settings, _current(platform, job)), plan.mends)
    platform.registry.record(Entry(by, "repair.checkpoint", job, number, plan.to_json()))
    return plan.sentence()


def _current(platform: Platform, job: str) -> Version:
    version = found(platform, job).current()
    if version is None:
        raise NothingDeployed(job)
    return version


def _source(platform: Platform, version: Version) -> Source:
    committed = platform.registry.newest_batches(version.job, version.version, version.generation)
    return Source(version.topic, version.settings.get(STATE_PARTITIONS, 1), committed)
