"""Start a version's driver exactly once: intent in the registry first, then the submission, then its id; and after the
stack came up, every driver that is wanted."""

from __future__ import annotations

from uuid import UUID, uuid4

from kappa.cluster import ALIVE
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import JOBS
from kappa.core.refusals import Refusal
from kappa.core.versions import OPEN_END, OVER, Desired, Launch, State, Version
from kappa.platform import Platform, connect, wait_until
from kappa.registry.port import UnknownVersion
from kappa.verbs.drivers.submission import submission
from kappa.verbs.observation import runs

CLAIM_SECONDS = 20.0


class ServesNoMore(Refusal):
    """A version that gave up is given a new try only while it serves the live end."""

    def __init__(self, job: str, number: int, serving: int | None) -> None:
        serves = "nothing" if serving is None else f"v{serving}"
        super().__init__(
            f"{job} v{number} gave up (FAILED) and does not serve the live end ({serves} does), so it is not started "
            "again and stays FAILED. Look with './kappa status', then ask again: what was asked for is then done to "
            "the version that serves."
        )


def version_of(platform: Platform, job: str, number: int) -> Version:
    """A version as the registry has it. Raises UnknownVersion."""
    for version in platform.registry.versions(job):
        if version.version == number:
            return version
    raise UnknownVersion(job, number)


def launch(platform: Platform, job: str, number: int, awaited: UUID | None = None) -> Launch:
    """The launch whose driver runs; started unless one does already.

    `awaited` is the id of a launch that a driver stands by for: it is intended by that id, and this driver claims it.
    However often this is killed and repeated, one driver runs: a repeated submission carries the launch's
    id, and the driver that finds it claimed by another submission ends by itself. Raises UnknownVersion,
    Unreachable, SubmissionRefused.
    """
    registry = platform.registry
    version = version_of(platform, job, number)
    registry.desire(job, number, Desired.RUNNING)
    known = _still_good(platform, registry.open_launch(job, number))
    called = awaited if known is None and awaited and _is_new(platform, awaited) else None
    intended = known or registry.intend_launch(job, number, called or uuid4())
    if intended.driver is None and (known or called):
        wait_until(platform.clock, CLAIM_SECONDS, lambda: registry.launch(intended.launch_id).driver is not None, 0.3)
        intended = registry.launch(intended.launch_id)
    if intended.driver is None:
        submitted = platform.cluster.submit(submission(platform.settings, version, intended.launch_id))
        registry.record_submission(intended.launch_id, submitted)
    return registry.launch(intended.launch_id)


def revive(platform: Platform, job: str, number: int) -> None:
    """Give a version that gave up a new try, if it serves the live end; one that did not give up stays as it is. It
    stays red until its driver commits a batch.

    Raises UnknownVersion, ServesNoMore: another version took its place since this was planned.
    """
    if platform.registry.revive(job, number) is State.FAILED:
        serving = (s.version for s in platform.registry.segments(job) if s.to_window == OPEN_END)
        raise ServesNoMore(job, number, next(serving, None))


def _is_new(platform: Platform, launch_id: UUID) -> bool:
    """Whether no launch of that id was ever intended."""
    try:
        platform.registry.launch(launch_id)
    except LookupError:
        return True
    return False


def _still_good(platform: Platform, known: Launch | None) -> Launch | None:
    """The open launch, unless its driver is gone: then it is ended, and a new one has to be made."""
    if known is None or known.driver is None or platform.cluster.state(known.launch_id, known.names) in ALIVE:
        return known
    platform.registry.end_launch(known.launch_id)
    return None


def resume_all(settings: Settings) -> list[str]:
    """Start every driver that is wanted and gone; the names of the versions that were started. Raises
    Unreachable."""
    return ensure_running(connect(settings))


def ensure_running(platform: Platform) -> list[str]:
    """The same over given ports."""
    started = []
    for job in JOBS:
        for version in platform.registry.versions(job):
            wanted = version.desired is Desired.RUNNING and version.state not in OVER
            if wanted and not runs(platform, job, version.version):
                launch(platform, job, version.version)
                started.append(f"{job} v{version.version}")
    return started
