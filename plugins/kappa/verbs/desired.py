"""What is wanted of a job, and what of it is there: the two sides of every plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kappa.code import digests
from kappa.code.artifacts import Code
from kappa.core.job_catalog import Job, resolve
from kappa.core.versions import OVER, Segment, Version


@dataclass(frozen=True)
class Wanted:
    """What is asked for: the job with all settings resolved, an artifact, and the topic as it is."""

    job: str
    artifact: str
    settings: Mapping[str, int]
    topic: str
    topic_id: str
    state_digest: str
    result_digest: str


@dataclass(frozen=True)
class Found:
    """What is there: the job's versions and segments, and which versions' drivers run."""

    versions: Sequence[Version]
    segments: Sequence[Segment]
    running: frozenset[int] = frozenset()

    def serves(self, version: Version) -> bool:
        """Whether a segment names the version."""
        return any(segment.version == version.version for segment in self.segments)

    def current(self) -> Version | None:
        """The version that a verb on the job means: the one that serves the open end, else the newest that
        is not over."""
        if self.segments:
            return next(v for v in self.versions if v.version == self.segments[-1].version)
        return next((v for v in reversed(self.versions) if v.state not in OVER), None)

    def next_number(self) -> int:
        """The number of the next version."""
        return max((v.version for v in self.versions), default=0) + 1


def want(
    job: Job, artifact: str, code: Code, topic: tuple[str, str], given: Mapping[str, int | str], found: Found
) -> Wanted:
    """What is wanted; settings that are not given stay as they are, at first as the catalogue has them.

    `topic` is (name, id). Raises UnknownJobSetting, JobSettingOutOfRange.
    """
    current = found.current()
    names = {setting.name for setting in job.settings}
    kept = {name: value for name, value in (current.settings if current else {}).items() if name in names}
    resolved = resolve(job, {**kept, **given})
    state = digests.state_digest(code.state_shape, topic[1])
    result = digests.result_digest(code.result_code, job, resolved)
    return Wanted(job.name, artifact, resolved, *topic, state, result)
