"""The catalogue: one record per stream job, saying what it reads, how it groups, what it serves and what may be set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from kappa.core.refusals import Refusal

MINUTE_MS = 60_000
STATE_PARTITIONS = "state_partitions"
"""The setting that a checkpoint fixes: it tunes, yet is changed by a rescale only."""
EXECUTORS = "executors"
EXECUTOR_CORES = "executor_cores"
ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
"""What a client, an ad or a user may be called, as a whole (contract, section 1)."""


class Effect(StrEnum):
    """Whether a setting can change a number (a new version), or only speed and memory (in place)."""

    RESULT = "result"
    TUNING = "tuning"


class Approval(StrEnum):
    """Whether a person has to agree to a promotion of a job. It decides no number, so it is in no digest."""

    AUTO = "auto"
    ASK = "ask"


@dataclass(frozen=True)
class JobSetting:
    """One integer setting of a job: its default, bounds (both included), effect and meaning."""

    name: str
    default: int
    least: int
    most: int
    effect: Effect
    meaning: str


@dataclass(frozen=True)
class Job:
    """A stream job.

    `keys` group the events beside the minute of event_time; empty for a stateless job. `table` is the table in schema
    `data` that holds the rows of all its versions. `stateful` jobs keep one set of events per group and window.
    `approval` is the policy for promoting a replay of the job; a request may only be stricter.
    """

    name: str
    description: str
    keys: tuple[str, ...]
    table: str
    settings: tuple[JobSetting, ...]
    window_ms: int = MINUTE_MS
    approval: Approval = Approval.ASK

    @property
    def stateful(self) -> bool:
        """Whether the job has a stateful operator."""
        return bool(self.keys)

    @property
    def pipeline(self) -> str:
        """The module of `jobs/pipelines` that makes its query."""
        return "windowed" if self.stateful else "quarantine"


class UnknownJob(Refusal):
    """No job of that name is in the catalogue."""

    def __init__(self, name: str) -> None:
        super().__init__(f"unknown job '{name}'; the catalogue has {', '.join(JOBS)}.")


class UnknownJobSetting(Refusal):
    """A job has no setting of that name."""

    def __init__(self, job: Job, name: str) -> None:
        known = ", ".join(s.name for s in job.settings)
        super().__init__(f"job {job.name} has no setting '{name}'; it has {known}.")


class JobSettingOutOfRange(Refusal):
    """A setting's value breaks its rule."""

    def __init__(self, job: Job, name: str, value: object, rule: str) -> None:
        super().__init__(f"job {job.name}: {name}={value} is not allowed: {rule}.")


_FATE_LIMITS = (
    JobSetting("allowed_lateness_ms", 7_200_000, 0, 259_200_000, Effect.RESULT, "how late a record may be appended"),
    JobSetting("future_bound_ms", 300_000, 0, 3_600_000, Effect.RESULT, "how far event_time may lie past append_time"),
)
_CLICKS = (
    JobSetting(
        "click_interval_ms",
        10_000,
        1_000,
        MINUTE_MS,
        Effect.RESULT,
        "one click per interval counts; divides a minute",
    ),
)
_TUNING = (
    JobSetting("cadence_ms", 500, 0, 60_000, Effect.TUNING, "least time between the starts of two batches"),
    JobSetting(
        "records_per_batch",
        200_000,
        100,
        500_000,
        Effect.TUNING,
        "most records a batch reads; where they are few, most records per cadence",
    ),
    JobSetting(EXECUTORS, 0, 0, 64, Effect.TUNING, "0: the driver's own process does the work; N: N executors do"),
    JobSetting(EXECUTOR_CORES, 2, 1, 64, Effect.TUNING, "cores of each executor, or of the driver that does the work"),
    JobSetting("executor_memory_mb", 512, 384, 65_536, Effect.TUNING, "heap of each executor, or for its work"),
    JobSetting("driver_memory_mb", 512, 384, 65_536, Effect.TUNING, "heap of the driver"),
)
_STATE = (JobSetting(STATE_PARTITIONS, 2, 1, 64, Effect.TUNING, "partitions of the state; changed by a rescale only"),)


UNHURRIED_MS = 1_000
"""A job whose batches begin no more often does so on a busy machine, too."""
MOST_KEPT = 20_000
"""Records per batch of the quarantine: all of them kept, at full length, fit into the smallest heap that may be set
(docs/decisions/0039)."""


def _with_defaults(settings: tuple[JobSetting, ...], **defaults: int) -> tuple[JobSetting, ...]:
    return tuple(replace(s, default=defaults.get(s.name, s.default)) for s in settings)


def _with_most(settings: tuple[JobSetting, ...], **most: int) -> tuple[JobSetting, ...]:
    return tuple(replace(s, most=most.get(s.name, s.most)) for s in settings)


JOBS: Mapping[str, Job] = {
    job.name: job
    for job in (
        Job(
            name="ad_ctr",
            description="impressions, clicks and spend per client, ad and minute",
            keys=("client_id", "ad_id"),
            table="ad_ctr_minute",
            settings=_FATE_LIMITS + _CLICKS + _TUNING + _STATE,
        ),
        Job(
            name="client_spend",
            description="spend per client and minute, from which every time zone's day is a sum",
            keys=("client_id",),
            table="client_spend_minute",
            settings=_FATE_LIMITS + _CLICKS + _TUNING + _STATE,
        ),
        Job(
            name="quarantine",
            description="the records that the other jobs refuse, with fate, reason and bytes",
            keys=(),
            table="quarantine",
            settings=_FATE_LIMITS
            + _with_most(
                _with_defaults(_TUNING, cadence_ms=2_000, executor_cores=1, records_per_batch=MOST_KEPT),
                records_per_batch=MOST_KEPT,
            ),
        ),
    )
}


def working_cores(settings: Mapping[str, int]) -> int:
    """The cores that do a version's work: those of all its executors, or of its driver's own process."""
    return max(1, settings[EXECUTORS]) * settings[EXECUTOR_CORES]


def longest_ms(cadence_ms: int) -> int:
    """The time that a job lets pass between the starts of two batches on a busy machine: two cadences, where a second
    has as many, else one."""
    return 2 * cadence_ms if 2 * cadence_ms <= UNHURRIED_MS else cadence_ms


def find(name: str) -> Job:
    """The job of that name. Raises UnknownJob."""
    if name not in JOBS:
        raise UnknownJob(name)
    return JOBS[name]


def resolve(job: Job, given: Mapping[str, int | str]) -> dict[str, int]:
    """All settings of a job: the given ones, checked, over the defaults.

    Raises UnknownJobSetting, JobSettingOutOfRange.
    """
    known = {s.name: s for s in job.settings}
    resolved = {s.name: s.default for s in job.settings}
    for name, value in given.items():
        if name not in known:
            raise UnknownJobSetting(job, name)
        resolved[name] = _checked(job, known[name], value)
    return resolved


def _checked(job: Job, setting: JobSetting, value: int | str) -> int:
    try:
        number = int(value)
    except ValueError as error:
        raise JobSettingOutOfRange(job, setting.name, value, "it must be a whole number") from error
    if not setting.least <= number <= setting.most:
        raise JobSettingOutOfRange(job, setting.name, number, f"it must lie between {setting.least} and {setting.most}")
    if setting.name == "click_interval_ms" and MINUTE_MS % number:
        raise JobSettingOutOfRange(job, setting.name, number, "the click interval must divide a minute")
    return number
