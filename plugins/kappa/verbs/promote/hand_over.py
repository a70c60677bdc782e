"""The hand-over as a step: the live ends are held, the targets are close, then the segments move or nothing does."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kappa.core.audit import Author
from kappa.core.refusals import Refusal
from kappa.core.replays import HandOver, Release, Replay
from kappa.core.verb_steps import Verb
from kappa.core.versions import LIVE_END, Segment, State, Version
from kappa.platform import Platform, wait_until
from kappa.registry.releases.segments import canonical, carried_out, ordered, serving_end
from kappa.verbs import lease
from kappa.verbs.equal_settings import Ruled, check_one_rule
from kappa.verbs.lease import IsOver, nobody_ended
from kappa.verbs.observation import beside
from kappa.verbs.promote.live_end import live_lag_seconds
from kappa.verbs.replay.progress import READY_SECONDS, Reading

LIVE_END_SECONDS = 180.0
WAIT_SECONDS = 60.0
"""How long another hand-over of the job is waited for, and a version that is to take over to come close enough."""


class TooFarBehind(Refusal):
    """A version that is to serve is not close enough to the end of the log."""

    def __init__(self, behind: Collection[str], seconds: float) -> None:
        super().__init__(
            f"not close enough to the end of the log within {seconds:.0f} s: {', '.join(behind)} (at most "
            f"{READY_SECONDS:.0f} s more than the live version are allowed); nothing was moved and the live versions "
            "serve on. Try again when './kappa status' shows it caught up."
        )


class MovedSince(Refusal):
    """The run made this hand-over, and another one came after it: a task of a run that is over was cleared."""

    def __init__(self, verb: str, release: Release, found: Collection[Segment]) -> None:
        serve = ", ".join(f"{job} v{version}" for job, version in sorted(serving_end(found)))
        command = f"./kappa {verb if verb == Verb.ROLLBACK else Verb.PROMOTE} {' '.join(release.jobs)}"
        super().__init__(
            f"this run made that hand-over as release {release.release_id}, and it does not stand any more: {serve} "
            f"serve now. Nothing was moved. If it is wanted once more, start a new run: {command} --reason TEXT."
        )


def hand_over(platform: Platform, verb: str, plan: HandOver, by: Author, is_over: IsOver = nobody_ended) -> Release:
    """Move the segments, under the leases of the live ends; this run's release where it has moved them already.

    Raises MovedSince, UnderWay, TooFarBehind, NotHolder, OtherRules, and as `Releases.hand_over`: nothing was moved
    then.
    """
    if made := _made(platform, verb, plan, by):
        return made
    lease.check_all(platform, plan.targets, by)
    check_rules(platform, verb, plan)
    live_ends = dict.fromkeys(plan.jobs, LIVE_END)
    lease.take_on(platform, verb, live_ends, by, LIVE_END_SECONDS, WAIT_SECONDS, is_over)
    _wait_close(platform, plan.targets)
    return platform.releases.hand_over(plan, by, check=lambda: check_rules(platform, verb, plan))


def check_rules(platform: Platform, verb: str, plan: HandOver) -> None:
    """Pass where the versions that would serve count by the same rules as those of the other jobs. Raises
    OtherRules."""
    held = [v for v in versions_of(platform, plan.jobs) if plan.targets[v.job] == v.version]
    moved = {version.job: Ruled(version.version, version.settings) for version in held}
    check_one_rule("the promotion" if verb == Verb.PROMOTE else f"the {verb}", moved, beside(platform, plan.jobs))


def release_of(platform: Platform, replay: Replay) -> Release | None:
    """The release by which all of the replay's candidates serve the live end now, if they do."""
    segments = ordered(segments_of(platform, replay.versions))
    ends = serving_end(segments)
    if not ends or ends != set(replay.versions.items()):
        return None
    fitting = (r for r in platform.releases.releases() if set(r.jobs) == set(replay.versions))
    return next((r for r in reversed(list(fitting)) if ordered(r.after) == segments), None)


def segments_of(platform: Platform, jobs: Collection[str]) -> list[Segment]:
    return [segment for job in sorted(jobs) for segment in platform.registry.segments(job)]


def versions_of(platform: Platform, jobs: Collection[str]) -> list[Version]:
    return [version for job in jobs for version in platform.registry.versions(job)]


def _wait_close(platform: Platform, targets: Mapping[str, int]) -> None:
    """Wait until each is at most READY_SECONDS behind the live version. Raises TooFarBehind."""
    if not wait_until(platform.clock, WAIT_SECONDS, lambda: not _far(platform, targets)):
        raise TooFarBehind(_far(platform, targets), WAIT_SECONDS)


def _far(platform: Platform, targets: Mapping[str, int]) -> list[str]:
    with platform.open_log() as log:
        ends = log.ends()
    now, far = platform.registry.now(), []
    for job, number in sorted(targets.items()):
        standing = platform.releases.standing(job, number)
        live = live_lag_seconds(platform, job, now, ends)
        reading = Reading(now, State.CAUGHT_UP, standing, ends, live_lag_seconds=live)
        if not reading.is_close:
            lag = "not known" if reading.lag_seconds is None else f"{reading.lag_seconds:.1f} s"
            far.append(f"{job} v{number} is {lag} behind, the live version {live:.1f} s")
    return far


def _made(platform: Platform, verb: str, plan: HandOver, by: Author) -> Release | None:
    """The run's own release of the plan, which is in force. Raises MovedSince."""
    wanted, found = canonical(plan), ordered(segments_of(platform, plan.jobs))
    ours = [r for r in platform.releases.releases() if r.evidence.get("run_id") == by.run_id]
    made = next((r for r in reversed(ours) if r.jobs == wanted.jobs and carried_out(wanted, r, found)), None)
    if made is not None and ordered(made.after) != found:
        raise MovedSince(verb, made, found)
    return made
