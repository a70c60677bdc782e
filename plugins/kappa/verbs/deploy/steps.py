"""The steps of a deployment, in the order of its plan."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from kappa.cluster import SubmissionRefused
from kappa.core.audit import Author, Entry
from kappa.core.changes import Change
from kappa.core.refusals import Refusal
from kappa.core.verb_steps import DeployStep, Verb
from kappa.core.versions import Desired, State, Version
from kappa.platform import Platform
from kappa.unavailable import Unreachable
from kappa.verbs.change import steps as changing
from kappa.verbs.deploy.plan import Action, DeployPlan, refuse_if_refused
from kappa.verbs.drivers.launch import launch, revive, version_of
from kappa.verbs.drivers.readiness import wait_ready
from kappa.verbs.drivers.standby import add_standby, no_room, stands_by
from kappa.verbs.equal_settings import Ruled, check_one_rule
from kappa.verbs.observation import beside
from kappa.verbs.stop.steps import end_driver

VERB = Verb.DEPLOY


class GaveUp(Refusal):
    """The driver of a version under deployment ended for good."""

    def __init__(self, job: str, version: int) -> None:
        super().__init__(
            f"the driver of {job} v{version} ended before it was ready, so the version does not serve. "
            f"See why with './kappa status', then deploy again: that makes the next version."
        )


class ServesByNow(Refusal):
    """A version that was to be given up, since it never served, came further: a task of a run that is over was
    cleared."""

    def __init__(self, old: Version, by_version: int) -> None:
        super().__init__(
            f"{old.job} v{old.version} is {old.state} by now, so it is not given up for v{by_version} as this run "
            "planned. Nothing was changed. Clear the run from its first task on, or deploy anew: ./kappa deploy "
            f"{old.job}."
        )


def _supersede(platform: Platform, plan: DeployPlan, by: Author) -> None:
    """Give up an unfinished version that never served, so that the planned one can take its place. Raises
    ServesByNow."""
    if plan.replaces is None:
        return
    job, old = plan.wanted.job, version_of(platform, plan.wanted.job, plan.replaces)
    if old.state is State.FAILED:
        return
    if old.state is not State.STAGED:
        raise ServesByNow(old, plan.version)
    end_driver(platform, job, old.version, by)
    platform.registry.set_state(job, old.version, old.state, State.FAILED)
    platform.registry.record(Entry(by, f"{VERB}.superseded", job, old.version, {"by_version": plan.version}))


def stage(platform: Platform, plan: DeployPlan, by: Author) -> None:
    """Make the planned version in the registry, in place of one that never served. Raises ServesByNow,
    StagedByAnother, OtherRules."""
    _supersede(platform, plan, by)
    if plan.start is not None and plan.action is Action.FIRST:
        job = plan.wanted.job
        staged = {job: Ruled(plan.version, plan.wanted.settings)}
        platform.registry.stage(
            _version(plan), by, {"plan": plan.to_json()},
            lambda: check_one_rule("the deployment", staged, beside(platform, [job])),
        )  # fmt: skip


def start(platform: Platform, plan: DeployPlan, by: Author) -> None:
    """Have the version's driver running. A version that gave up is given a new try."""
    job = plan.wanted.job
    if plan.action is Action.UNCHANGED:
        return
    version = version_of(platform, job, plan.version)
    if version.state is State.FAILED and plan.action is Action.FIRST:
        raise GaveUp(job, version.version)
    revive(platform, job, version.version)
    started = launch(platform, job, plan.version)
    evidence = {"launch_id": str(started.launch_id), "submission_id": started.submission_id}
    platform.registry.record(Entry(by, DeployStep.LAUNCH.action(VERB), job, plan.version, evidence))


def ready(platform: Platform, plan: DeployPlan) -> None:
    """Wait until the version's driver does its work. Raises NotReady, GaveUp."""
    if plan.action is Action.UNCHANGED:
        return
    opened = platform.registry.open_launch(plan.wanted.job, plan.version)
    if opened is None:
        raise GaveUp(plan.wanted.job, plan.version)
    wait_ready(platform, opened)


def live(platform: Platform, plan: DeployPlan, by: Author) -> None:
    """Give the version all windows if the job serves none yet, and a driver that stands by where the settings ask for
    one. Raises ServedByAnother."""
    if plan.action is Action.UNCHANGED:
        return
    if platform.registry.go_live(plan.wanted.job, plan.version, by):
        platform.registry.record(Entry(by, DeployStep.LIVE.action(VERB), plan.wanted.job, plan.version))
    _have_standby(platform, plan, by)


def _have_standby(platform: Platform, plan: DeployPlan, by: Author) -> None:
    """A version that serves is deployed whatever comes of it: the next repair starts a standby that is missing."""
    job, number = plan.wanted.job, plan.version
    with suppress(Unreachable, SubmissionRefused):
        version, opened = version_of(platform, job, number), platform.registry.open_launch(job, number)
        if stands_by(platform, version, opened) is False and not no_room(platform, version.settings):
            add_standby(platform, job, number, VERB, by)


def conclude(platform: Platform, plan: DeployPlan, by: Author) -> str:
    """Write down and say what was done."""
    sentence = done_sentence(plan)
    evidence = {"sentence": sentence, "plan": plan.to_json()}
    platform.registry.record(Entry(by, f"{VERB}.done", plan.wanted.job, plan.version, evidence))
    return sentence


def done_sentence(plan: DeployPlan) -> str:
    """What a deployment that came to its end did, in one sentence."""
    name = f"{plan.wanted.job} v{plan.version}"
    if plan.action is Action.FIRST and plan.start:
        code, start_at = plan.wanted.artifact, plan.start.sentence()
        return f"{name} is deployed from artifact {code}, started {start_at}, and serves."
    if plan.action is Action.RESUME:
        return f"{name} runs again and serves."
    return f"{name} runs already with this artifact and these settings; nothing was changed."


_WOULD = {
    Action.FIRST: "be deployed for the first time",
    Action.RESUME: "run again as it is",
    Action.IN_PLACE: "be changed in place",
    Action.UNCHANGED: "stay as it is, for it runs with this artifact and these settings",
    Action.REFUSED: "be refused",
}


def dry_sentence(plan: DeployPlan) -> str:
    """What a dry run found, in one sentence."""
    steps = f" ({' -> '.join(plan.steps)})" if plan.steps else ""
    return f"dry run: {plan.wanted.job} v{plan.version} would {_WOULD[plan.action]}{steps}; nothing was changed."


def carry_out(platform: Platform, plan: DeployPlan, by: Author, say: Callable[[str], None]) -> str:
    """All steps of a plan in place, without Airflow; the trial, which is a Spark application of its own, is left out.

    Raises what the steps raise, DeployRefused.
    """
    refuse_if_refused(plan)
    if plan.action is Action.IN_PLACE:
        return _change(platform, plan, by, say)
    acts: dict[DeployStep, Callable[[], None]] = {
        DeployStep.STAGE: lambda: stage(platform, plan, by),
        DeployStep.LAUNCH: lambda: start(platform, plan, by),
        DeployStep.READY: lambda: ready(platform, plan),
        DeployStep.LIVE: lambda: live(platform, plan, by),
    }
    for step in plan.steps:
        say(step)
        acts[step]()
    return conclude(platform, plan, by)


def begin_change(platform: Platform, plan: DeployPlan, by: Author) -> Change:
    """Write down what the planned version is to run as, in place. Raises Unsettled."""
    assert plan.old is not None
    assert plan.new is not None
    return changing.begin(platform, VERB, plan.wanted.job, plan.version, plan.old, plan.new, by)


def _change(platform: Platform, plan: DeployPlan, by: Author, say: Callable[[str], None]) -> str:
    change = begin_change(platform, plan, by)
    acts: dict[DeployStep, Callable[[], None]] = {
        DeployStep.HOLD: lambda: changing.hold(platform, change, by),
        DeployStep.SWITCH: lambda: changing.switch(platform, change),
        DeployStep.LAUNCH_NEW: lambda: changing.launch(platform, change, by),
        DeployStep.READY_NEW: lambda: changing.ready(platform, change, by),
    }
    for step, act in acts.items():
        say(step)
        act()
    return changing.conclude(platform, change, by)


def _version(plan: DeployPlan) -> Version:
    wanted, start_at = plan.wanted, plan.start
    assert start_at is not None
    return Version(
        **vars(wanted),
        version=plan.version,
        state=State.STAGED,
        desired=Desired.RUNNING,
        starts_at=start_at.starts_at,
        start_offsets=start_at.offsets,
        first_appended=start_at.first_appended,
    )
