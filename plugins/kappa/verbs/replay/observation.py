"""Look before a replay: the log with its retention, what the live versions weigh, how fast replays were, free cores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise
from statistics import median

from kappa.code import known_artifacts
from kappa.code.differences import Parts
from kappa.core.checkpoint.reader import checkpoint_of
from kappa.core.job_catalog import MINUTE_MS
from kappa.core.log.kafka_log import Appended, Log, Offsets
from kappa.core.log.topic import Topic, check_kept_whole, check_stamping
from kappa.core.requests.reprocessing import ReprocessRequest
from kappa.core.versions import Version
from kappa.platform import Platform
from kappa.verbs.desired import want
from kappa.verbs.equal_settings import Ruled, check_one_rule
from kappa.verbs.observation import beside, found, parts_of
from kappa.verbs.replay.candidate import given
from kappa.verbs.replay.plan import ReprocessPlan, decide_reprocess, live_versions
from kappa.verbs.replay.price import LogFacts, Weight, to_read
from kappa.verbs.start_point import EARLIEST, LogHead, StartPoint, replay_start_ms, smallest_exact_ms, utc

SHARES = (0.0, 0.25, 0.5, 0.75)
"""Where a partition's unread records are looked at, as shares of them."""
MINUTES = 5
"""What arrived in the middle one of so many minutes goes on to arrive; a burst in one of them does not."""


def plan_reprocess(platform: Platform, request: ReprocessRequest, same_code: bool = False) -> ReprocessPlan:
    """The plan of a replay with its price. Changes nothing.

    `same_code`: each job from the artifact that its live version runs, whatever the request names. Raises what `given`,
    `replay_start_ms` and `decide_reprocess` raise, UnknownArtifact, TamperedArtifact, JobNotInArtifact, MissingTopic,
    WrongTimestampType, OtherRules, Unreachable, StoreAway.
    """
    jobs = request.catalogued()
    asked = {job.name: given(request, job) for job in jobs}
    there = {job.name: found(platform, job.name) for job in jobs}
    live = live_versions(there)
    final, weights = final_ms(platform, live), {job: weight(platform, version) for job, version in live.items()}
    old_parts = {job: parts_of(platform, version) for job, version in live.items()}
    code = {job: known_artifacts.find_whole(platform.settings, version.artifact if same_code else request.artifact)
            for job, version in live.items()}  # fmt: skip
    parts = {job: Parts(old_parts[job], code[job].code(job).parts) for job in live}
    now_ms = _ms(platform.registry.now())
    with platform.open_log() as log:
        topic = log.describe()
        check_stamping(topic)
        check_kept_whole(topic)
        names = (topic.name, topic.topic_id)
        wanted = {
            job.name: want(
                job, code[job.name].digest, code[job.name].code(job.name), names, asked[job.name], there[job.name]
            )
            for job in jobs
        }
        if request.promote:
            moved = {job: Ruled(there[job].next_number(), one.settings) for job, one in wanted.items()}
            check_one_rule("the replay", moved, beside(platform, moved))
        # For all jobs alike: more only gives more records the fate before_start.
        bound_ms = max(one.settings["future_bound_ms"] for one in wanted.values())
        window_ms = math.lcm(*(job.window_ms for job in jobs))
        starts = replay_start_ms(request.start, window_ms, head(log), now_ms, bound_ms, final)
        offsets = log.earliest() if starts is None else log.offsets_at(starts - bound_ms)
        facts = log_facts(log, topic, offsets, now_ms, bound_ms)
    first = {p: samples[0][1] if (samples := facts.samples.get(p)) else now_ms for p in offsets}
    start = StartPoint(request.start, starts, offsets, first)
    return decide_reprocess(request, there, wanted, start, facts, weights, platform.cluster.capacity(), parts)


def closed_span_start(platform: Platform, jobs: tuple[str, ...], minutes: int) -> str:
    """Where a replay starts that is to compare the last `minutes` of windows that are final in all these jobs; the
    word `earliest` where the log, or what is final, does not reach back so far. Raises as `live_versions`."""
    request = ReprocessRequest(jobs)
    live = live_versions({job.name: found(platform, job.name) for job in request.catalogued()})
    through = list(final_ms(platform, live).values())
    known = [ms for ms in through if ms is not None]
    if len(known) < len(through):
        return EARLIEST
    window_ms = math.lcm(*(job.window_ms for job in request.catalogued()))
    starts = (min(known) - minutes * 60_000) // window_ms * window_ms
    bound_ms = max(version.settings["future_bound_ms"] for version in live.values())
    with platform.open_log() as log:
        smallest = smallest_exact_ms(head(log), _ms(platform.registry.now()), bound_ms)
    return EARLIEST if starts <= 0 or (smallest is not None and starts < smallest) else utc(starts)


def final_ms(platform: Platform, live: Mapping[str, Version]) -> dict[str, int | None]:
    """Up to when each live version's windows are final, in epoch ms, rounded down."""
    standings = {job: platform.releases.standing(job, version.version) for job, version in live.items()}
    through = {job: standing.complete_through for job, standing in standings.items()}
    return {job: None if moment is None else math.floor(moment.timestamp() * 1000) for job, moment in through.items()}


def weight(platform: Platform, live: Version) -> Weight:
    """What a live version weighs, and how fast its job was last seen to start and to read a backlog."""
    weighed = platform.releases.weighed(live.job, live.version)
    checkpoint = checkpoint_of(platform.settings, live)
    held = checkpoint.facts().bytes if checkpoint.newest_planned() is not None else 0
    keys = platform.registry.health(live.job, live.version).state_rows
    return Weight(weighed, held, keys)


def head(log: Log) -> LogHead:
    """How the log begins."""
    firsts = log.earliest()
    return LogHead(firsts, {p: log.append_time(p, offset) if offset else None for p, offset in firsts.items()})


def log_facts(log: Log, topic: Topic, starts: Offsets, now_ms: int, before_ms: int) -> LogFacts:
    """The log from these offsets on, `before_ms` before T, by a few of its records."""
    ends = log.ends()
    unread = to_read(starts, ends)
    looks = {p: sorted({starts[p] + int(records * share) for share in SHARES}) for p, records in unread.items()}
    seen: dict[int, dict[int, Appended]] = {p: {} for p in looks}
    for partition, offsets in looks.items():
        for offset in offsets if unread[partition] else ():
            if record := log.appended(partition, offset):
                seen[partition][offset] = record
    sizes = [record.bytes for records in seen.values() for record in records.values()]
    return LogFacts(
        ends=ends,
        samples={p: tuple((offset, record.at_ms) for offset, record in held.items()) for p, held in seen.items()},
        retention_ms=topic.retention_ms,
        bytes_per_record=sum(sizes) / len(sizes) if sizes else 0.0,
        arrivals_per_s=_arrivals_per_s(log, ends, now_ms),
        now_ms=now_ms,
        before_ms=before_ms,
    )


def _arrivals_per_s(log: Log, ends: Offsets, now_ms: int) -> float:
    """Records a second in the middle one of the last minutes."""
    cuts = [*(log.offsets_at(now_ms - ago * MINUTE_MS) for ago in range(MINUTES, 0, -1)), ends]
    return median(sum(to_read(first, past).values()) for first, past in pairwise(cuts)) / 60


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
