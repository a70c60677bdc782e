"""Wait until a launched driver does its work: a heartbeat of its own, and a batch of its own or nothing
left to read."""

from __future__ import annotations

from dataclasses import dataclass

from kappa.cluster import ALIVE, DriverState
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.core.versions import Desired, Heartbeat, Launch, State
from kappa.platform import Platform, wait_until
from kappa.verbs.drivers.launch import version_of

READY_SECONDS = 390.0
FRESH_SECONDS = 30.0
FIRST_BEAT_SECONDS = 45.0
"""With the old driver's own start it keeps the silence of a job below a minute when its new code never starts."""
MOST_RESTARTS = 2


class NotReady(Refusal):
    """The driver was started and does not do its work."""

    def __init__(self, platform: Platform, launch: Launch, problem: str) -> None:
        lines = platform.registry.red_lines(launch.job, launch.version)
        said = f" It says: {'; '.join(lines)}." if lines else ""
        stdout = words_of(platform.settings, launch)
        super().__init__(f"{launch.job} v{launch.version} {problem}.{said} Its own words are in {stdout}.")


def words_of(settings: Settings, launch: Launch) -> str:
    """Where a launch's driver writes what it has to say: on the host that it runs on, in its worker's work folder."""
    if settings.is_embedded:
        return str(settings.home / "spark" / str(launch.driver) / "stdout")
    return f"{launch.driver}/stdout, in the work folder of the Spark worker that it ran on"


@dataclass
class Impatience:
    """What a changed driver is not granted: a long silence at its start (`since`: monotonic seconds), or restarts
    without a commit."""

    since: float
    first_epoch: int | None = None

    def look(self, platform: Platform, launch: Launch) -> None:
        """Pass while there is hope. Raises NotReady."""
        beat = _own_beat(platform, launch)
        if beat is None:
            waited = platform.clock.monotonic() - self.since
            if self.first_epoch is None and waited > FIRST_BEAT_SECONDS:
                raise NotReady(platform, launch, f"was started and sent no heartbeat within {FIRST_BEAT_SECONDS:.0f} s")
            return
        self.first_epoch = beat.epoch if self.first_epoch is None else self.first_epoch
        if beat.epoch - self.first_epoch >= MOST_RESTARTS:
            raise NotReady(platform, launch, f"was started and ended {MOST_RESTARTS} times without committing a batch")


def wait_ready(platform: Platform, launch: Launch, seconds: float = READY_SECONDS, impatient: bool = False) -> None:
    """Wait until the driver of a launch is ready; `impatient` where something else can run in its place.

    Changes nothing. Raises NotReady, Unreachable.
    """
    impatience = Impatience(platform.clock.monotonic()) if impatient else None

    def reached() -> bool:
        if is_ready(platform, launch):
            return True
        if impatience is not None:
            impatience.look(platform, platform.registry.launch(launch.launch_id))
        return False

    if not wait_until(platform.clock, seconds, reached):
        current = platform.registry.launch(launch.launch_id)
        raise NotReady(platform, current, f"was started and is not ready after {seconds:.0f} s; it is left running")


def is_ready(platform: Platform, launch: Launch) -> bool:
    """Whether the driver is ready by now. Raises NotReady when it cannot become ready any more."""
    current = platform.registry.launch(launch.launch_id)
    if _does_its_work(platform, current):
        return True
    _check_alive(platform, current)
    return False


def _own_beat(platform: Platform, launch: Launch) -> Heartbeat | None:
    """The version's heartbeat, if it is this launch's."""
    beat = platform.registry.heartbeat(launch.job, launch.version)
    if beat is None or beat.submission_id != launch.driver or beat.beat_at < launch.intended_at:
        return None
    return beat


def _does_its_work(platform: Platform, launch: Launch) -> bool:
    beat = _own_beat(platform, launch)
    if launch.ended or beat is None or beat.age_seconds > FRESH_SECONDS:
        return False
    if beat.committed_at is not None and beat.committed_at > launch.intended_at:
        return True
    return platform.registry.drained_since(launch.job, launch.version, launch.intended_at)


def _check_alive(platform: Platform, launch: Launch) -> None:
    version = version_of(platform, launch.job, launch.version)
    if version.state is State.FAILED:
        raise NotReady(platform, launch, "gave up after too many restarts")
    if version.desired is Desired.STOPPED:
        raise NotReady(platform, launch, "was told to stop before it was ready")
    submitted = launch.driver is not None
    state = platform.cluster.state(launch.launch_id, launch.names) if submitted else DriverState.SUBMITTED
    if launch.ended or state not in ALIVE:
        raise NotReady(platform, launch, f"was started and ended (Spark says {state})")
