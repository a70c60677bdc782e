"""Promote and roll back: the same hand-over, forward to candidates and back to the versions that served before."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from kappa.core.audit import Author, Entry
from kappa.core.job_catalog import find
from kappa.core.refusals import Refusal
from kappa.core.replays import Answer, Approval, Course, Release, Replay, Standing, time_left
from kappa.core.serialization import Serializable
from kappa.core.verb_steps import Verb
from kappa.core.versions import BEGINNING, State
from kappa.platform import Platform
from kappa.verbs import lease
from kappa.verbs.drivers.launch import version_of
from kappa.verbs.lease import IsOver, nobody_ended
from kappa.verbs.promote.hand_over import check_rules, hand_over, release_of, segments_of, versions_of
from kappa.verbs.promote.live_end import serving
from kappa.verbs.promote.plan import HandOverPlan, back, forward, rollback_rows
from kappa.verbs.replay import catch_up
from kappa.verbs.replay.approvers import check_approver, check_asked, check_promotable, names
from kappa.verbs.replay.candidate import remedy
from kappa.verbs.replay.price import duration
from kappa.verbs.replay.progress import Reading
from kappa.verbs.retire.plan import kept_until
from kappa.verbs.retire.steps import windows

PROMOTE, ROLLBACK = Verb.PROMOTE, Verb.ROLLBACK
HELD_SECONDS = 600.0
"""The longest that a roll-back in place still holds its versions, should its process be killed: it renews its leases
while it waits for them to catch up."""


class NothingToPromote(Refusal):
    """No candidate of a job waits for its promotion."""

    def __init__(self, job: str) -> None:
        super().__init__(
            f"{job} has no version that has caught up and waits for a promotion; nothing was changed. Make one: "
            f"./kappa reprocess {job}."
        )


class NotReplayedTogether(Refusal):
    """The candidates of the jobs do not belong to one replay."""

    def __init__(self, versions: Mapping[str, int], replay: Replay | None) -> None:
        asked = ", ".join(f"{job} v{number}" for job, number in sorted(versions.items()))
        together = f"the replay was of {names(replay)}" if replay else "no replay made them together"
        super().__init__(
            f"{asked} cannot be promoted: {together}, and only what was validated together is promoted together. "
            "Nothing was changed. Name the jobs of one replay."
        )


class NotApproved(Refusal):
    """Somebody has to agree first."""

    def __init__(self, replay: Replay) -> None:
        super().__init__(
            f"nobody has agreed to promoting {names(replay)} yet; nothing was changed. Answer the question in Airflow, "
            f"or promote by hand: ./kappa promote {' '.join(sorted(replay.versions))}."
        )


@dataclass(frozen=True)
class MovePlan(Serializable):
    """A hand-over that somebody asks for by hand, with what has to be said before, the time to catch up (s), and when
    it was planned."""

    hand: HandOverPlan
    said: tuple[tuple[str, str], ...]
    eta_seconds: float
    planned_at: datetime | None = None

    def rows(self) -> list[tuple[str, str]]:
        """The plan for people."""
        return [*self.hand.rows(), *self.said]


def plan_promote(platform: Platform, jobs: Collection[str], by: Author, asked_at: datetime | None = None) -> MovePlan:
    """The plan of promoting by hand what the newest replay of these jobs made. Changes nothing.

    Where somebody had to agree and nobody did, asking for this is the answer; a run of Airflow, which may be cleared
    by others, says when it was asked for. Raises NothingToPromote, NotReplayedTogether, RunIsOlder, NotValidated,
    WasRejected, OwnRequest, OtherRules, and as `forward`.
    """
    replay = replay_of_jobs(platform, jobs)
    check_asked(replay, asked_at)
    check_promotable(replay)
    if replay.approval is Approval.ASK and replay.answer != Answer.APPROVED:
        check_approver(replay, by.actor)
    return _move_plan(
        platform, PROMOTE, forward(segments_of(platform, replay.versions), replay, versions_of(platform, jobs))
    )


def plan_rollback(platform: Platform, jobs: Collection[str]) -> MovePlan:
    """The plan of rolling back the newest release of these jobs: it says how fresh the versions are that would serve
    again, and until when that can be done. Changes nothing. Raises as `back`."""
    names_of = sorted({find(job).name for job in jobs})
    plan = back(
        platform.releases.releases(), segments_of(platform, names_of), names_of, versions_of(platform, names_of)
    )
    return _move_plan(platform, ROLLBACK, plan)


def replay_of_jobs(platform: Platform, jobs: Collection[str]) -> Replay:
    """The replay of the newest versions that wait for the live end. Raises NothingToPromote, NotReplayedTogether."""
    versions = {job: _newest_waiting(platform, find(job).name) for job in sorted(set(jobs))}
    replay = platform.releases.replay_of_versions(versions)
    if replay is None or dict(replay.versions) != versions:
        raise NotReplayedTogether(versions, replay)
    return replay


def promote(platform: Platform, verb: str, replay: Replay, by: Author, is_over: IsOver = nobody_ended) -> str:
    """Let the candidates serve, all or none, and end the replay; the sentence.

    Once the segments have moved, doing it again only ends what is left. Raises NotValidated, WasRejected, NotApproved,
    MovedSince, TooFarBehind, UnderWay, and as `forward` and `Releases.hand_over`.
    """
    fresh = platform.releases.replay(replay.replay_id)
    release = release_of(platform, fresh)
    if release is None:
        check_promotable(fresh)
        by_hand = verb == PROMOTE
        if fresh.approval is Approval.ASK and fresh.answer != Answer.APPROVED and not by_hand:
            raise NotApproved(fresh)
        if by_hand and fresh.approval is Approval.ASK:
            platform.releases.note_answer(fresh.replay_id, Answer.APPROVED, by)
        plan = forward(segments_of(platform, fresh.versions), fresh, versions_of(platform, fresh.versions))
        release = hand_over(platform, verb, plan, by, is_over)
    said = promoted_sentence(release)
    platform.releases.end_replay(fresh.replay_id, said)
    return said


def conclude(platform: Platform, verb: str, release: Release, by: Author) -> str:
    """Write down and say what a hand-over by hand did."""
    said = promoted_and_sized(platform, release) if verb == PROMOTE else _rolled_back_sentence(release)
    for job in release.jobs:
        number = serving(release.after, job)
        told = {"sentence": said, "release_id": release.release_id}
        platform.registry.record(Entry(by, f"{verb}.done", job, number, told))
    return said


def dry_sentence(verb: str, plan: MovePlan) -> str:
    """What a dry run found, in one sentence."""
    moves = ", ".join(f"{job} v{plan.hand.olds[job]} -> v{plan.hand.targets[job]}" for job in plan.hand.jobs)
    return f"dry run: {verb} {moves}, ready in about {duration(plan.eta_seconds)}; nothing was changed."


def carry_out(platform: Platform, plan: MovePlan, by: Author, is_over: IsOver, say: Callable[[str], None]) -> str:
    """All steps of a roll-back, without Airflow; no lease outlives it. Raises what the steps raise."""
    targets = plan.hand.targets

    def hold() -> None:
        lease.renew(platform, ROLLBACK, targets, by, HELD_SECONDS)

    try:
        lease.take_on(platform, ROLLBACK, targets, by, HELD_SECONDS, 0.0, is_over)
        say("catch_up")
        pursuit = catch_up.launch(platform, ROLLBACK, targets, 0, plan.eta_seconds, by, plan.planned_at)
        catch_up.caught_up(platform, ROLLBACK, targets, catch_up.wait(platform, pursuit, hold), by)
        say("hand_over")
        return conclude(platform, ROLLBACK, hand_over(platform, ROLLBACK, plan.hand, by, is_over), by)
    finally:
        lease.release(platform, by)


def promoted_and_sized(platform: Platform, release: Release) -> str:
    """What a promotion did and, where a version was replayed smaller than the one before, how to give it its size."""
    said = [promoted_sentence(release)]
    for job in release.jobs:
        now, before = serving(release.after, job), serving(release.before, job)
        if now is not None and before is not None:
            said.append(remedy(version_of(platform, job, now), version_of(platform, job, before)) or "")
    return " ".join(filter(None, said))


def promoted_sentence(release: Release) -> str:
    """What a promotion did, in one sentence."""
    seconds = release.evidence.get("hand_over_seconds", 0)
    moved = ", ".join(f"{job} v{serving(release.after, job)}" for job in release.jobs)
    since = release.evidence.get("from_window", "")
    windows_of = "all windows" if since == BEGINNING else f"the windows from {since} on"
    return f"release {release.release_id}: {moved} serve {windows_of}; the hand-over took {seconds} s."


def _rolled_back_sentence(release: Release) -> str:
    moved = ", ".join(
        f"{job} v{serving(release.before, job)} -> v{serving(release.after, job)}" for job in release.jobs
    )
    seconds = release.evidence.get("hand_over_seconds", 0)
    return f"release {release.release_id} rolled back: {moved}; the hand-over took {seconds} s."


def _move_plan(platform: Platform, verb: str, plan: HandOverPlan) -> MovePlan:
    check_rules(platform, verb, plan)
    standings = {job: _now(platform, job, number) for job, number in plan.targets.items()}
    until = {job: _until(platform, job, number) for job, number in plan.targets.items()}
    unread = max(standing.lag_events for standing in standings.values())
    stopped = any(platform.registry.open_launch(job, number) is None for job, number in plan.targets.items())
    course = Course(0.0, unread, idle_s=None if stopped else 0.0)
    lefts = [time_left(expected, course) for expected in catch_up.forecasts_of(platform, plan.targets).values()]
    eta = max(math.inf if left is None else left for left in lefts)
    since = ", since it is stopped and has to be started" if stopped else ""
    takes = ("catches up in", f"about {duration(eta)}{since}")
    said = rollback_rows(plan, standings, until, _failed(platform, plan))
    return MovePlan(plan, (*said, takes), eta, platform.registry.now())


def _failed(platform: Platform, plan: HandOverPlan) -> dict[str, str]:
    """By job why the version that would serve gave up, if it did; an empty text where nobody knows."""
    failed = [job for job, number in plan.targets.items() if version_of(platform, job, number).state is State.FAILED]
    return {job: "; ".join(platform.registry.red_lines(job, plan.targets[job])) for job in failed}


def _now(platform: Platform, job: str, number: int) -> Standing:
    """The version's standing against the log as it is; the driver of one that is stopped knows only of earlier."""
    standing = platform.releases.standing(job, number)
    with platform.open_log() as log:
        reading = Reading(platform.registry.now(), version_of(platform, job, number).state, standing, log.ends())
    lag = reading.lag_seconds
    return replace(standing, lag_events=reading.unread, lag_seconds=standing.lag_seconds if lag is None else lag)


def _until(platform: Platform, job: str, number: int) -> datetime | None:
    since = platform.releases.previous_since(job, number) or platform.releases.failed_since(job, number)
    pinned = (job, number) in platform.releases.pins()
    return None if since is None or pinned else kept_until(since, windows(platform.settings))


def _newest_waiting(platform: Platform, job: str) -> int:
    live = serving(platform.registry.segments(job), job) or 0
    waiting = [
        v.version
        for v in platform.registry.versions(job)
        if v.version > live and v.state in (State.CAUGHT_UP, State.PREVIOUS)
    ]
    if not waiting:
        raise NothingToPromote(job)
    return waiting[-1]
