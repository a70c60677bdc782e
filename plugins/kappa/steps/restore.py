"""Restore the files of a version's checkpoint from the database's offsets, while nobody works on it."""

from __future__ import annotations

from kappa.core import checkpoint_restore
from kappa.core.audit import Author, Entry
from kappa.core.catalog import STATE_PARTITIONS
from kappa.core.checkpoint_restore import Source
from kappa.core.checkpoints import Checkpoint
from kappa.core.refusals import Refusal
from kappa.core.verbs import Verb
from kappa.core.versions import Version
from kappa.plans.restore import RestorePlan
from kappa.plans.switch import NothingDeployed
from kappa.ports import Platform
from kappa.steps import lease
from kappa.steps.observe import found
from kappa.steps.settle import wait_free

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
    version = found(platform, job).current()
    if version is None:
        raise NothingDeployed(job)
    mends = checkpoint_restore.plan(_checkpoint(platform, version), _source(platform, version))
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
    folder = platform.settings.checkpoint(plan.job, plan.version, plan.generation)
    checkpoint_restore.carry_out(Checkpoint(folder), plan.mends)
    platform.registry.record(Entry(by, "repair.checkpoint", job, number, plan.to_json()))
    return plan.sentence()


def _checkpoint(platform: Platform, version: Version) -> Checkpoint:
    return Checkpoint(platform.settings.checkpoint(version.job, version.version, version.generation))


def _source(platform: Platform, version: Version) -> Source:
    committed = platform.registry.newest_batches(version.job, version.version, version.generation)
    return Source(version.topic, version.settings.get(STATE_PARTITIONS, 1), committed)
