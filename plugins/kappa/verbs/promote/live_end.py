"""The version that serves a job's live end, and how far it is: one that is to take over has to reach that."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from kappa.core.log.kafka_log import Offsets
from kappa.core.versions import OPEN_END, Segment, State
from kappa.platform import Platform
from kappa.verbs.replay.progress import Reading


def serving(segments: Collection[Segment], job: str) -> int | None:
    """The version that serves the job's live end."""
    return next((s.version for s in segments if (s.job, s.to_window) == (job, OPEN_END)), None)


def live_lag_seconds(platform: Platform, job: str, now: datetime, log_ends: Offsets | None) -> float:
    """How long the oldest record waits that the serving version has not read; 0 where that is not known."""
    number = serving(platform.registry.segments(job), job)
    if number is None:
        return 0.0
    return Reading(now, State.LIVE, platform.releases.standing(job, number), log_ends).lag_seconds or 0.0
