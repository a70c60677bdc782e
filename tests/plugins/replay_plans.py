"""Plans of replays as values: live versions, a log and what they weigh, for the tests of replays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kappa.cluster import Capacity, Host
from kappa.code import digests
from kappa.code.artifacts import Code
from kappa.code.differences import Parts
from kappa.core.job_catalog import JOBS, MINUTE_MS, resolve
from kappa.core.refusals import Refusal
from kappa.core.replays import Weighed
from kappa.core.requests.reprocessing import ReprocessRequest
from kappa.core.validation import Band, Direction
from kappa.core.versions import BEGINNING, OPEN_END, Desired, Segment, State, Version
from kappa.verbs.desired import Found, want
from kappa.verbs.replay.candidate import given
from kappa.verbs.replay.plan import ReprocessPlan, decide_reprocess
from kappa.verbs.replay.price import LogFacts, Weight
from kappa.verbs.start_point import StartPoint

ROOT = Path(__file__).parents[2]
TOPIC = ("ad_events", "topic-one")
CODE = Code("shape", "result", {"plugins/kappa/core/fates.py: LATE": "2"})
OTHER = Code("shape", "other result", {"plugins/kappa/core/fates.py: LATE": "3"})
BOTH = ("ad_ctr", "client_spend")
T = 1_800_000_000_000 // MINUTE_MS * MINUTE_MS
HOUR_MS = 60 * MINUTE_MS
NOW = T + 10 * HOUR_MS
START = StartPoint("asked", T, {0: 1_000, 1: 500})
LOG = LogFacts(
    ends={0: 61_000, 1: 30_500},
    samples={0: ((1_000, T - 5 * MINUTE_MS),), 1: ((500, T - 4 * MINUTE_MS),)},
    retention_ms=168 * HOUR_MS,
    bytes_per_record=250.0,
    arrivals_per_s=500.0,
    now_ms=NOW,
    before_ms=5 * MINUTE_MS,
)
WEIGHT = Weight(Weighed(3_000_000, replays_per_s=5_500.0), checkpoint_bytes=1_000_000, state_keys=40_000)
CLICKS_DOWN = Band("clicks", Direction.DOWN, 50)


def live(job: str, number: int = 4, **settings: int) -> Version:
    """A version of a job from CODE, which serves the live end."""
    resolved = resolve(JOBS[job], settings)
    digest = (digests.state_digest("shape", TOPIC[1]), digests.result_digest("result", JOBS[job], resolved))
    return Version(job, number, State.LIVE, Desired.RUNNING, "code", *digest, resolved, *TOPIC, None, {0: 0, 1: 0})


def found(job: str, **settings: int) -> Found:
    """The live version of a job serves all windows."""
    version = live(job, **settings)
    return Found([version], [Segment(job, BEGINNING, OPEN_END, version.version)], frozenset({version.version}))


def planned(
    *jobs: str,
    code: Code = CODE,
    there: Mapping[str, Found] | None = None,
    log: LogFacts = LOG,
    weight: Weight = WEIGHT,
    free_cores: int = 4,
    **asked: Any,
) -> ReprocessPlan:
    """The plan of replaying jobs (by default both) whose live versions are v4 from CODE, on two cores each."""
    request = ReprocessRequest(jobs or BOTH, **asked)
    there = there or {job: found(job) for job in request.jobs}
    artifact = "code" if code is CODE else "new code"
    wanted = {j.name: want(j, artifact, code, TOPIC, given(request, j), there[j.name]) for j in request.catalogued()}
    weights = dict.fromkeys(request.jobs, weight)
    parts = {job: Parts(CODE.parts, code.parts) for job in request.jobs}
    capacity = Capacity((Host(16, free_cores, 8192, 8192),))
    return decide_reprocess(request, there, wanted, START, log, weights, capacity, parts)


def refusal(expected: type[Refusal], *jobs: str, **asked: Any) -> str:
    """The message of the refusal that the plan ends in; it says that nothing was touched."""
    with pytest.raises(expected) as refused:
        planned(*jobs, **asked)
    assert re.search("[Nn]othing was (staged|changed)", str(refused.value))
    return str(refused.value)
