"""A second driver of a version, started beside the present one: a change's pause is shorter by its start, or what
follows a driver's death."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kappa.cluster import ALIVE
from kappa.code.known_artifacts import source
from kappa.core.audit import Author, Entry
from kappa.core.changes import Change, Mark, Phase
from kappa.core.verb_steps import RescaleStep, Verb
from kappa.core.versions import Desired, Launch, State, Version
from kappa.platform import Platform, wait_until
from kappa.verbs.drivers.launch import version_of
from kappa.verbs.drivers.size import NOTHING, shortage, size_of
from kappa.verbs.drivers.submission import submission
from kappa.verbs.repair.plan import for_how_long

STANDBY_SECONDS = 300.0
"""A cold JVM and two first batches on cores that everything else has, too: the stream runs meanwhile."""

STILL_SECONDS = 60.0
"""A stream that has stood still for so long has nothing to lose by a cold start, and time to lose by a warming."""


def prepare(platform: Platform, change: Change, by: Author) -> str:
    """Start a driver of what the change makes of the version; it touches nothing and waits for the change's launch.

    What was done, in a sentence: nothing where the version is to stay stopped, its stream stands still, the cluster has
    no cores for two drivers, or the artifact is older than standing by; then the driver starts cold after the stop.
    Raises Unreachable, SubmissionRefused.
    """
    current = platform.registry.change(change.change_id)
    if current.phase is not Phase.BEGUN or _submitted(platform, current, by):
        return f"nothing was started: the change is {current.phase}, or a driver stands by for it already"
    why_not = _why_not(platform, current)
    sentence = why_not or f"the next driver of {current.name} stands by"
    evidence = {"change_id": str(current.change_id), "sentence": sentence}
    if not why_not:
        version = version_of(platform, current.job, current.version)
        next_one = replace(version, **vars(current.new))
        request = submission(platform.settings, next_one, current.change_id, standby=True)
        evidence["submission_id"] = platform.cluster.submit(request)
    platform.registry.record(
        Entry(by, RescaleStep.STANDBY.action(current.verb), current.job, current.version, evidence)
    )
    return sentence


def wait(platform: Platform, change: Change, by: Author) -> None:
    """Wait until the driver that was started beside the present one is warm; one that is not in time is ended."""
    submitted = _submitted(platform, change, by)
    if submitted is None:
        return

    def over() -> bool:
        stands = Mark.STANDBY in platform.registry.change(change.change_id).marks
        return stands or platform.cluster.state(change.change_id, [submitted]) not in ALIVE

    if not wait_until(platform.clock, STANDBY_SECONDS, over, pause=0.3):
        platform.cluster.kill(change.change_id, [submitted])


def stands_by(platform: Platform, version: Version, opened: Launch | None) -> bool | None:
    """Whether a driver stands by for the one of a version's open launch; None where none is asked for: by the settings,
    of a version that is not live or not driven, or of code that would not wait. Raises Unreachable."""
    if not platform.settings.supervision.warm_standby or opened is None or version.state is not State.LIVE:
        return None
    if not _waits(platform, version.artifact):
        return None
    return bool(opened.standby) and platform.cluster.state(opened.launch_id, [str(opened.standby)]) in ALIVE


def no_room(platform: Platform, settings: Mapping[str, int]) -> str:
    """What the cluster lacks for one more driver of a version with these settings, in words; empty where nothing.
    Raises Unreachable."""
    return shortage(size_of(settings), NOTHING, platform.cluster.capacity())


def add_standby(platform: Platform, job: str, number: int, verb: Verb, by: Author) -> str | None:
    """Submit a driver for the version's open launch, which another one holds, so that it stands by; what the cluster
    calls it, None where no launch is open by now. The audit has it as the verb's.

    Raises UnknownVersion, Unreachable, SubmissionRefused.
    """
    version, opened = version_of(platform, job, number), platform.registry.open_launch(job, number)
    if opened is None:
        return None
    submitted = platform.cluster.submit(submission(platform.settings, version, opened.launch_id))
    platform.registry.record_standby(opened.launch_id, submitted)
    platform.registry.record(Entry(by, f"{verb}.standby_added", job, number, {"submission_id": submitted}))
    return submitted


def _why_not(platform: Platform, change: Change) -> str | None:
    """Why no driver stands by, if so."""
    if change.wanted is Desired.STOPPED:
        return f"no driver stands by: {change.name} stays stopped"
    if _program(platform, change.new.artifact) is None:
        return f"no driver stands by: artifact {change.new.artifact} is older than that"
    if (still := _stands_still(platform, change)) is not None:
        return f"no driver stands by: {change.name} has committed nothing {still}, so there is no pause to shorten"
    lacking = no_room(platform, change.new.settings)
    return f"no driver stands by: it would take {lacking}" if lacking else None


def _program(platform: Platform, artifact: str) -> str | None:
    """The program by which an artifact's drivers stand by, if it has one. Raises StoreAway."""
    return source(platform.settings, artifact, "jobs/standby.py")


def _waits(platform: Platform, artifact: str) -> bool:
    """Whether a driver of this artifact that finds its launch held waits for the other one's end: an older one takes
    the launch from it after a while."""
    program = _program(platform, artifact)
    return program is not None and "def await_failover(" in program


def _stands_still(platform: Platform, change: Change) -> str | None:
    """For how long the stream has stood still while records wait, in words; None where it does its work."""
    health = platform.registry.health(change.job, change.version)
    works = health.commit_seconds is not None and health.commit_seconds <= STILL_SECONDS
    if works or health.lag_seconds <= STILL_SECONDS:
        return None
    return for_how_long(health.commit_seconds)


def _submitted(platform: Platform, change: Change, by: Author) -> str | None:
    """The submission of the driver that this run has started to stand by."""
    for entry in platform.registry.entries(by.run_id):
        if entry.action == f"{change.verb}.standby" and entry.evidence.get("change_id") == str(change.change_id):
            return entry.evidence.get("submission_id")
    return None
