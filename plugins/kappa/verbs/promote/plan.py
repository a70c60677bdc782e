"""The plan of a hand-over, forward (promote) or back (roll back): the segments of all its jobs, before and after."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from kappa.core.job_catalog import find
from kappa.core.refusals import Refusal
from kappa.core.replays import HandOver, Release, Replay, Standing
from kappa.core.versions import Segment, State, Version
from kappa.verbs.promote.segments import (
    Segments,
    check_whole,
    edge,
    first_difference,
    instant_ms,
    of_job,
    of_jobs,
    same,
    sentence,
    with_open_end,
)

PROMOTABLE = frozenset({State.CAUGHT_UP, State.PREVIOUS, State.LIVE})
"""States from which a version may take the live end; LIVE for a hand-over that this run has made already."""


class LiveHasChanged(Refusal):
    """The candidate was compared with a version that no longer serves."""

    def __init__(self, job: str, candidate: int, planned: int, serves: int) -> None:
        super().__init__(
            f"{job} v{candidate} was planned and validated against v{planned}, and v{serves} serves now: it may "
            f"replace only what it was compared with. Nothing was changed, v{serves} serves on. Replay again, or "
            f"roll back first if v{planned} is to serve: ./kappa rollback {job}."
        )


class CandidateNotCaughtUp(Refusal):
    """The version is not one that may take the live end."""

    def __init__(self, job: str, version: int, state: State) -> None:
        super().__init__(
            f"{job} v{version} is {state}: only a version that has caught up, or served before, may serve. Nothing "
            f"was changed. Wait until its replay is ready, or replay again if it is over: ./kappa reprocess {job}."
        )


class NothingToRollBackTo(Refusal):
    """No version served the job before."""

    def __init__(self, job: str, first: int | None) -> None:
        why = f"release {first} was its first" if first is not None else "it has no release that stands"
        super().__init__(
            f"{job} has nothing to roll back to: {why}. Nothing was changed, what serves serves on. For other numbers "
            f"replay the log into a new version: ./kappa reprocess {job}."
        )


class NotReleasedTogether(Refusal):
    """The jobs are not exactly those of one release, which goes back as a whole or not at all."""

    def __init__(self, jobs: tuple[str, ...], release_id: int, released: tuple[str, ...]) -> None:
        super().__init__(
            f"a release goes back as a whole, for its jobs' numbers were validated together: the newest one is "
            f"release {release_id} of {', '.join(released)}, and {', '.join(jobs)} was asked for. Nothing was "
            f"changed. Give exactly its jobs: ./kappa rollback {' '.join(released)}."
        )


class PreviousRetired(Refusal):
    """The version that would serve has neither rows nor state any more."""

    def __init__(self, job: str, version: int) -> None:
        super().__init__(
            f"{job} v{version}, which would serve again, is RETIRED: its rows and its state are gone. Nothing was "
            f"changed. Replay the log with its code instead (./kappa reprocess {job} --artifact D); next time keep "
            f"a version by './kappa pin'."
        )


class SegmentsOfNoRelease(Refusal):
    """What serves is not what the release wrote, so undoing the release would lose what came after it."""

    def __init__(self, jobs: tuple[str, ...], release_id: int, served: str) -> None:
        super().__init__(
            f"a roll-back undoes what its release wrote, and {', '.join(jobs)} is served by {served}, which release "
            f"{release_id} did not write. Nothing was changed. Look with './kappa releases' and './kappa audit', "
            f"and promote the version that is to serve: ./kappa promote {' '.join(jobs)}."
        )


@dataclass(frozen=True)
class HandOverPlan(HandOver):
    """A hand-over and how it was come by: `undoes` is the release that is rolled back, None for a promotion."""

    undoes: int | None = None

    @property
    def in_force(self) -> bool:
        """Whether the segments are already as planned, so that nothing moves."""
        return same(self.before, self.after)

    def rows(self) -> list[tuple[str, str]]:
        """The plan for people."""
        moves = [f"{job} v{self.olds[job]} -> v{self.targets[job]}" for job in self.jobs]
        lists = [(f"{job} served by", self._served(job)) for job in self.jobs]
        verb = "promotes" if self.undoes is None else f"rolls back release {self.undoes}"
        waits = "one transaction, as soon as each new version has read as far as the old one; else nothing changes"
        return [(verb, "\n".join(moves)), ("from window", self.from_window), *lists, ("how", waits)]

    def _served(self, job: str) -> str:
        was, will = (sentence(of_job(job, held)) for held in (self.before, self.after))
        return f"{was}\n-> {will}" if was != will else f"{was} (as it is)"


def forward(segments: Iterable[Segment], replay: Replay, versions: Sequence[Version] = ()) -> HandOverPlan:
    """The plan of promoting a replay's candidates, all from T on, given the segments in force.

    With `versions` given, their states are looked at, too. A replay whose candidates all serve the live end already
    gives a plan that is in force. Raises BrokenSegments, LiveHasChanged, CandidateNotCaughtUp, UnknownJob.
    """
    jobs = tuple(sorted(replay.versions))
    before = of_jobs(jobs, segments)
    lists = {job: of_job(job, before) for job in jobs}
    for job, held in lists.items():
        check_whole(find(job).name, held)
    from_window = edge(replay.starts_ms)
    if all(held[-1].version == replay.versions[job] for job, held in lists.items()):
        return HandOverPlan(jobs, before, before, replay.versions, replay.live, from_window)
    _check_candidates(replay, {job: held[-1].version for job, held in lists.items()}, versions)
    after = {job: with_open_end(held, job, replay.versions[job], from_window) for job, held in lists.items()}
    return HandOverPlan(jobs, before, of_jobs(jobs, sum(after.values(), ())), replay.versions, replay.live, from_window)


def back(
    releases: Iterable[Release], segments: Iterable[Segment], jobs: Collection[str], versions: Sequence[Version] = ()
) -> HandOverPlan:
    """The plan of rolling back the newest release of these jobs that still stands, given the segments in force.

    A release that a later one has undone stands no more, so a second roll-back goes one release further back, never
    forward again. With `versions` given, none that would serve may be retired. Raises UnknownJob,
    NothingToRollBackTo, NotReleasedTogether, SegmentsOfNoRelease, PreviousRetired, BrokenSegments.
    """
    names, known = tuple(sorted({find(job).name for job in jobs})), tuple(releases)
    release = _to_undo(names, known)
    before, after = of_jobs(names, segments), of_jobs(names, release.before)
    if not same(before, of_jobs(names, release.after)):
        raise SegmentsOfNoRelease(names, release.release_id, sentence(before))
    _check_not_retired(after, versions)
    for job in names:
        check_whole(job, of_job(job, after))
    targets, olds = ({job: of_job(job, held)[-1].version for job in names} for held in (after, before))
    edges = [first_difference(of_job(job, before), of_job(job, after)) for job in names]
    return HandOverPlan(names, before, after, targets, olds, min(edges, key=instant_ms), release.release_id)


def standing_releases(job: str, releases: Iterable[Release]) -> list[Release]:
    """The job's releases that no later one has undone, the newest last."""
    standing: list[Release] = []
    for release in sorted((r for r in releases if job in r.jobs), key=lambda r: r.release_id):
        if standing and _undoes(job, release, standing[-1]):
            standing.pop()
        else:
            standing.append(release)
    return standing


def rollback_rows(
    plan: HandOverPlan,
    standings: Mapping[str, Standing],
    until: Mapping[str, datetime | None],
    failed: Mapping[str, str] = MappingProxyType({}),
) -> list[tuple[str, str]]:
    """What is said before a roll-back: per job how fresh the version is that would serve, and until when its state is
    kept; no time: it is kept until further notice. `failed` says why one gave up, by job."""
    said = {job: f"{_freshness(standings[job])}; {_kept(until.get(job))}" for job in plan.jobs}
    return [(f"{job} v{plan.targets[job]}", f"{_new_try(failed.get(job))}{said[job]}") for job in plan.jobs]


def _new_try(why: str | None) -> str:
    return "" if why is None else f"gave up ({why or 'no reason is known'}), and is given a new try; "


def _freshness(standing: Standing) -> str:
    if not standing.lag_events:
        return "has read all there is"
    waited = f"the oldest waiting for {standing.lag_seconds:,.0f} s at most"
    return f"has {standing.lag_events:,} records to read first, {waited}"


def _kept(until: datetime | None) -> str:
    return f"can be rolled back to until {until:%Y-%m-%dT%H:%M:%SZ}" if until else "is kept until further notice"


def _check_candidates(replay: Replay, live: Mapping[str, int], versions: Sequence[Version]) -> None:
    for job, serves in live.items():
        if serves != replay.live[job]:
            raise LiveHasChanged(job, replay.versions[job], replay.live[job], serves)
    for version in versions:
        if replay.versions.get(version.job) == version.version and version.state not in PROMOTABLE:
            raise CandidateNotCaughtUp(version.job, version.version, version.state)


def _to_undo(jobs: tuple[str, ...], releases: Sequence[Release]) -> Release:
    """The one release that is the newest standing one of all these jobs, and of no other job."""
    newest: dict[str, Release] = {}
    for job in jobs:
        standing = standing_releases(job, releases)
        if not standing or not of_job(job, standing[-1].before):
            raise NothingToRollBackTo(job, standing[-1].release_id if standing else None)
        newest[job] = standing[-1]
    release = max(newest.values(), key=lambda r: r.release_id)
    if {r.release_id for r in newest.values()} != {release.release_id} or set(release.jobs) != set(jobs):
        raise NotReleasedTogether(jobs, release.release_id, tuple(sorted(release.jobs)))
    return release


def _undoes(job: str, later: Release, earlier: Release) -> bool:
    back_again = same(of_job(job, later.after), of_job(job, earlier.before))
    return back_again and same(of_job(job, later.before), of_job(job, earlier.after))


def _check_not_retired(after: Segments, versions: Sequence[Version]) -> None:
    named = {(s.job, s.version) for s in after}
    for version in versions:
        if (version.job, version.version) in named and version.state is State.RETIRED:
            raise PreviousRetired(version.job, version.version)
