"""Stop a version's driver: by request, which it sees within a second; by force only when it does not obey."""

from __future__ import annotations

from kappa.cluster import ALIVE
from kappa.core.audit import Author, Entry
from kappa.core.job_catalog import find
from kappa.core.verb_steps import Verb
from kappa.core.versions import Desired, Launch
from kappa.platform import Platform, wait_until
from kappa.verbs.observation import found
from kappa.verbs.stop.plan import StopPlan, decide_stop

STOP_SECONDS = 120.0
VERB = Verb.STOP


def stop(platform: Platform, plan: StopPlan, by: Author, seconds: float = STOP_SECONDS) -> str:
    """Stop the planned version and say what was done. Raises Unreachable."""
    request(platform, plan)
    return conclude(platform, plan, wait(platform, plan, by, seconds), by, seconds)


def request(platform: Platform, plan: StopPlan) -> None:
    """Want the planned version stopped."""
    platform.registry.desire(plan.job, plan.version, Desired.STOPPED)


def wait(platform: Platform, plan: StopPlan, by: Author, seconds: float = STOP_SECONDS) -> bool:
    """Wait for the end of its driver, which is shut out and killed if it does not end; whether it did by itself."""
    return finish_driver(platform, plan.job, plan.version, by, seconds)


def conclude(platform: Platform, plan: StopPlan, obeyed: bool, by: Author, seconds: float = STOP_SECONDS) -> str:
    """Write down and say what was done."""
    name = f"{plan.job} v{plan.version}"
    if not plan.steps:
        sentence = f"{name} is stopped already; nothing was changed."
    elif obeyed:
        sentence = f"{name} is stopped; its last batch was finished."
    else:
        sentence = f"{name} did not stop within {seconds:.0f} s: it was shut out and killed."
    platform.registry.record(Entry(by, f"{VERB}.done", plan.job, plan.version, {"sentence": sentence}))
    return sentence


def dry_sentence(plan: StopPlan) -> str:
    """What a dry run found, in one sentence."""
    steps = " -> ".join(plan.steps) or "nothing"
    return f"dry run: {plan.job} v{plan.version}: {plan.why} ({steps}); nothing was changed."


def end_driver(platform: Platform, job: str, version: int, by: Author, seconds: float = STOP_SECONDS) -> bool:
    """Have no driver of the version running, and none wanted; whether it ended by itself."""
    platform.registry.desire(job, version, Desired.STOPPED)
    return finish_driver(platform, job, version, by, seconds)


def finish_driver(platform: Platform, job: str, version: int, by: Author, seconds: float = STOP_SECONDS) -> bool:
    """Wait for the end of a driver that is wanted stopped; shut it out if it does not end. Whether it did by itself."""
    open_launch = platform.registry.open_launch(job, version)
    if open_launch is None:
        return True
    obeyed = wait_until(platform.clock, seconds, lambda: _gone(platform, open_launch), pause=0.3)
    if not obeyed:
        shut_out(platform, job, version, by)
    platform.registry.end_launch(open_launch.launch_id)
    return obeyed


def shut_out(platform: Platform, job: str, version: int, by: Author) -> None:
    """Raise the epoch, so that what is left of a driver can write no more; then kill it and close its launch."""
    epoch = platform.registry.raise_epoch(job, version)
    launch = platform.registry.open_launch(job, version)
    if launch:
        platform.cluster.kill(launch.launch_id, launch.names)
        platform.registry.end_launch(launch.launch_id)
    evidence = {"epoch": epoch, "killed": sorted(launch.names) if launch else []}
    platform.registry.record(Entry(by, "stop.forced", job, version, evidence))


def _gone(platform: Platform, known: Launch) -> bool:
    launch = platform.registry.launch(known.launch_id)
    if launch.ended:
        return True
    return launch.driver is not None and platform.cluster.state(launch.launch_id, launch.names) not in ALIVE


def plan_stop(platform: Platform, job: str) -> StopPlan:
    """The plan of stopping a job's current version. Raises UnknownJob, NothingDeployed, AlreadyOver."""
    there = found(platform, find(job).name)
    current = there.current()
    launch = platform.registry.open_launch(job, current.version) if current else None
    return decide_stop(job, there, open_launch=launch is not None)
