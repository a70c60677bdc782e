"""Wait until a launched driver does its work: a heartbeat of its own, and a batch of its own or nothing
left to read."""

from __future__ import annotations

from jobs.refusals import Refusal
from kappa.hooks.registry import Launch
from kappa.hooks.spark import ALIVE, DriverState
from kappa.ports import Platform, wait_until
from kappa.states import Desired, State
from kappa.steps.launch import version_of

READY_SECONDS = 390.0
FRESH_SECONDS = 30.0


class NotReady(Refusal):
    """The driver was started and does not do its work."""

    def __init__(self, platform: Platform, launch: Launch, problem: str) -> None:
        lines = platform.registry.red_lines(launch.job, launch.version)
        said = f" It says: {'; '.join(lines)}." if lines else ""
        stdout = platform.settings.home / "spark" / str(launch.driver) / "stdout"
        super().__init__(f"{launch.job} v{launch.version} {problem}.{said} Its own words are in {stdout}.")


def wait_ready(platform: Platform, launch: Launch, seconds: float = READY_SECONDS) -> None:
    """Wait until the driver of a launch is ready. Changes nothing. Raises NotReady, Unreachable."""
    if not wait_until(platform.clock, seconds, lambda: is_ready(platform, launch)):
        current = platform.registry.launch(launch.launch_id)
        raise NotReady(platform, current, f"was started and is not ready after {seconds:.0f} s; it is left running")


def is_ready(platform: Platform, launch: Launch) -> bool:
    """Whether the driver is ready by now. Raises NotReady when it cannot become ready any more."""
    current = platform.registry.launch(launch.launch_id)
    if _does_its_work(platform, current):
        return True
    _check_alive(platform, current)
    return False


def _does_its_work(platform: Platform, launch: Launch) -> bool:
    beat = platform.registry.heartbeat(launch.job, launch.version)
    if launch.ended or beat is None or beat.submission_id != launch.driver or beat.beat_at < launch.intended_at:
        return False
    if beat.age_seconds > FRESH_SECONDS:
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
    state = platform.cluster.status(launch.driver) if launch.driver else DriverState.SUBMITTED
    if launch.ended or state not in ALIVE:
        raise NotReady(platform, launch, f"was started and ended (Spark says {state})")
