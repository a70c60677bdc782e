"""The steps of a change in place: begin, hold the driver, switch, launch, ready or back, conclude."""

from __future__ import annotations

import shutil
from typing import Any
from uuid import UUID, uuid4

from kappa.core.audit import Author, Entry
from kappa.core.changes import Change, Mark, Phase, RunsAs
from kappa.core.refusals import Refusal
from kappa.core.verb_steps import RescaleStep
from kappa.core.versions import Desired
from kappa.platform import Platform, wait_until
from kappa.verbs.change.recovery import run_if_wanted, settle, wait_free
from kappa.verbs.drivers import finite_program, standby
from kappa.verbs.drivers import launch as launching
from kappa.verbs.drivers.finite_program import Program
from kappa.verbs.drivers.readiness import NotReady, wait_ready
from kappa.verbs.stop.steps import finish_driver

# Spark's start, a copy and a rehearsal of the largest state that is rehearsed, under load; with the driver that stands
# by, and the stop that follows, it ends within the time that a task has.
WARM_SECONDS = 400.0


class ChangeUndone(Refusal):
    """A change was taken back, and the version runs as it did before."""


class PlannedForAnother(Refusal):
    """The version has been changed since the plan was made: a task of a run that is over was cleared."""

    def __init__(self, name: str, planned: RunsAs, now: RunsAs) -> None:
        moved = [f"generation {planned.generation} -> {now.generation}"] * (planned.generation != now.generation)
        since = ", ".join([*_differing(planned, now), *moved])
        super().__init__(
            f"{name} is no longer what this was planned for: {since}. This run changed nothing. Clear it from the task "
            "`plan` on, or ask anew."
        )


class EndedAtOnce(Refusal):
    """The changed version's driver was started, and has ended for good."""

    def __init__(self, change: Change) -> None:
        super().__init__(f"the driver of the changed {change.name} ended before it was ready.")


class NeverWarm(Refusal):
    """The Spark application that was to repartition the state was not prepared, so the driver was not stopped."""

    def __init__(self, change: Change, said: str) -> None:
        super().__init__(
            f"{change.name}: the repartition was not ready to begin: {said}. The stream was not touched. The log of "
            "the task `repartition` says why; then rescale again."
        )


class NotProved(Refusal):
    """The state's copy was not proved equal, so the version is not switched to it."""

    def __init__(self, change: Change) -> None:
        super().__init__(
            f"{change.name}: generation {change.new.generation} of its checkpoint was never proved equal to the old; "
            "the version is as it was. See the log of the task `repartition`."
        )


def begin(platform: Platform, verb: str, job: str, version: int, old: RunsAs, new: RunsAs, by: Author) -> Change:
    """Write down what the version is to become; this run's change where it has one that is under way. Raises
    Unsettled, PlannedForAnother.
    """
    held = launching.version_of(platform, job, version)
    now = RunsAs(held.artifact, held.settings, held.generation)
    if platform.registry.open_change(job, version) is None and now != old:
        raise PlannedForAnother(f"{job} v{version}", old, now)
    change = platform.registry.begin_change(Change(uuid4(), job, version, verb, by.run_id, held.desired, old, new))
    if change.change_id not in _begun(platform, job, by):
        platform.registry.record(
            Entry(by, RescaleStep.BEGIN.action(verb), job, version, {"change_id": str(change.change_id)})
        )
    return change


def hold(platform: Platform, change: Change, by: Author) -> None:
    """Have the version's driver finish its batch and end; first wait until the repartition, if any, is ready to begin,
    and the next driver stands by.

    Raises NeverWarm.
    """
    current = platform.registry.change(change.change_id)
    if current.phase not in (Phase.BEGUN, Phase.HELD):
        return
    if current.phase is Phase.BEGUN:
        if current.repartitions:
            _wait_warm(platform, current)
        standby.wait(platform, current, by)
    platform.registry.hold(current.change_id)
    finish_driver(platform, current.job, current.version, by)
    platform.registry.mark(current.change_id, Mark.STOPPED)


def switch(platform: Platform, change: Change) -> None:
    """Let the version be what the change makes of it. Raises NotProved."""
    current = platform.registry.change(change.change_id)
    if current.repartitions and Mark.PROVED not in current.marks:
        raise NotProved(current)
    platform.registry.switch(current.change_id)


def launch(platform: Platform, change: Change, by: Author) -> None:
    """Start the changed version's driver, if the version is wanted running. Raises CheckpointHeld."""
    current = platform.registry.change(change.change_id)
    if current.wanted is Desired.STOPPED or current.phase is not Phase.SWITCHED:
        return
    wait_free(platform, current.job, current.version)
    launching.revive(platform, current.job, current.version)
    awaited = current.change_id if Mark.STANDBY in current.marks else None
    started = launching.launch(platform, current.job, current.version, awaited)
    platform.registry.mark(current.change_id, Mark.LAUNCHED)
    evidence = {"launch_id": str(started.launch_id), "submission_id": started.driver}
    platform.registry.record(Entry(by, RescaleStep.LAUNCH.action(current.verb), current.job, current.version, evidence))


def ready(platform: Platform, change: Change, by: Author) -> None:
    """Wait until the changed version does its work; where it does not, settle the change. Raises ChangeUndone."""
    current = platform.registry.change(change.change_id)
    if current.phase is Phase.UNDONE:
        run_if_wanted(platform, current.job, current.version)
        raise _undone(current)
    if current.wanted is Desired.STOPPED or current.phase is Phase.DONE:
        return
    opened = platform.registry.open_launch(current.job, current.version)
    try:
        if opened is None:
            raise EndedAtOnce(current)
        wait_ready(platform, opened, impatient=True)
    except (NotReady, EndedAtOnce) as problem:
        raise ChangeUndone(f"{problem} So {settle(platform, current, by, str(problem))}") from problem
    platform.registry.mark(current.change_id, Mark.READY)


def conclude(platform: Platform, change: Change, by: Author) -> str:
    """End the change, remove what only it needed, and say what was done, to the audit once. Raises ChangeUndone."""
    platform.registry.end_change(change.change_id, Phase.DONE)
    current = platform.registry.change(change.change_id)
    if current.phase is Phase.UNDONE:
        raise _undone(current)
    said, action = done_sentence(current), f"{current.verb}.done"
    if current.change_id not in _said(platform, current.job, by, action):
        evidence: dict[str, Any] = {
            "sentence": said,
            "change_id": str(current.change_id),
            "old": current.old.to_json(),
            "new": current.new.to_json(),
            "marks": dict(current.marks),
            "work": _outcomes(platform, current),
        }
        platform.registry.record(Entry(by, action, current.job, current.version, evidence))
    _tidy(platform, current)
    return said


def of_run(platform: Platform, job: str, by: Author) -> Change:
    """The change that this run began, also when it has ended; the newest, where the run was cleared and began another.

    Raises LookupError.
    """
    begun = _begun(platform, job, by)
    if not begun:
        raise LookupError(f"run {by.run_id} began no change of {job}")
    return platform.registry.change(begun[-1])


def _begun(platform: Platform, job: str, by: Author) -> list[UUID]:
    """The changes of the job that the run has said it began, the newest last."""
    return _said(platform, job, by, f".{RescaleStep.BEGIN.told}")


def _said(platform: Platform, job: str, by: Author, ending: str) -> list[UUID]:
    """The changes of the job of which the run's entries in the audit have an action that ends so, the newest last."""
    said = (e for e in platform.registry.entries(by.run_id) if e.job == job and e.action.endswith(ending))
    return [UUID(str(entry.evidence["change_id"])) for entry in said]


def _undone(change: Change) -> ChangeUndone:
    return ChangeUndone(f"the {change.verb} of {change.name} was undone; it is what it was before.")


def _differing(old: RunsAs, new: RunsAs) -> list[str]:
    """What differs in code and settings, as `name old -> new`."""
    was, becomes = ({"artifact": runs_as.artifact, **runs_as.settings} for runs_as in (old, new))
    names = {**becomes, **was}
    return [f"{name} {was.get(name)} -> {becomes.get(name)}" for name in names if was.get(name) != becomes.get(name)]


def done_sentence(change: Change) -> str:
    """What a change that came to its end did, in one sentence."""
    proved = "; its state was moved and proved equal" if change.repartitions else "; its state was not touched"
    stays = "it stays stopped" if change.wanted is Desired.STOPPED else "it runs"
    return f"{change.name}: {', '.join(_differing(change.old, change.new)) or 'nothing'} changed{proved}; {stays}."


def _wait_warm(platform: Platform, change: Change) -> None:
    def reached() -> bool:
        return Mark.WARM in platform.registry.change(change.change_id).marks or _refused(platform, change) is not None

    came = wait_until(platform.clock, WARM_SECONDS, reached, pause=0.3)
    refused = _refused(platform, change)
    if not came or refused is not None:
        raise NeverWarm(change, refused or f"it was not prepared after {WARM_SECONDS:.0f} s")


def _refused(platform: Platform, change: Change) -> str | None:
    """Why the repartition said no, if it has; what may pass is tried again."""
    outcome = finite_program.outcome(platform, change, Program.REPARTITION)
    return outcome.sentence if outcome is not None and outcome.is_no else None


def _outcomes(platform: Platform, change: Change) -> dict[str, Any]:
    """What each program of the change that has ended said."""
    said = {program.value: finite_program.outcome(platform, change, program) for program in Program}
    return {name: outcome.to_json() for name, outcome in said.items() if outcome is not None}


def _tidy(platform: Platform, change: Change) -> None:
    """The last generation but one is kept until the next successful rescale; older ones, and scratch, go. Nothing of
    a version that was changed since: a task that is cleared later concludes once more."""
    shutil.rmtree(finite_program.work_folder(platform.settings, change), ignore_errors=True)
    platform.settings.scratch(change.change_id).delete()
    key, numbers = (change.job, change.version), (change.old.generation, change.new.generation)
    runs_on = launching.version_of(platform, *key).generation
    if not change.repartitions or runs_on != change.new.generation or platform.registry.open_change(*key):
        return
    kept = {platform.registry.folder(*key, number) for number in numbers}
    of_version = platform.settings.checkpoints(*key)
    for name in of_version.names() - kept:
        (of_version / name).delete()
