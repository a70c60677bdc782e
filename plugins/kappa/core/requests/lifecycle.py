"""The request of each verb: its fields in the form's order, with what each takes and means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, ClassVar

from kappa.core.job_catalog import EXECUTOR_CORES, EXECUTORS, JOBS, STATE_PARTITIONS
from kappa.core.refusals import Refusal
from kappa.core.requests.fields import Request, Rule, number
from kappa.core.verb_steps import Verb


class WhenHeld(StrEnum):
    """What to do while another run holds the job's version."""

    REFUSE = "refuse"
    WAIT = "wait"


NAMES = tuple(JOBS)
JobName = Annotated[str, Rule("Job", "A job of the catalogue", words=NAMES, initial=NAMES[0])]
Reason = Annotated[str | None, Rule("Reason", "Why; kept in the audit", longest=1000)]
DryRun = Annotated[bool, Rule("Dry run", "Print the plan and change nothing")]
Held = Annotated[
    WhenHeld,
    Rule(
        "When held", "What to do while another run holds the job's version", rare=True,
        shown={WhenHeld.REFUSE: "Refuse, naming the holder", WhenHeld.WAIT: "Wait for the holder, at most 5 minutes"},
    ),
]  # fmt: skip
ARTIFACT = "^[0-9a-f]{0,16}$"
EARLIEST = "earliest"
LATEST = "latest"
_TIME = r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:00(\.0+)?)?(Z|[+-]\d{2}:?\d{2})"
START = rf"^(earliest|latest|{_TIME})$"
Digest = Annotated[
    str,
    Rule(
        "Artifact", "Digest of the code, as `./kappa build --list` shows it", pattern=ARTIFACT, empty="the newest one"
    ),
]
Given = Annotated[Mapping[str, int | str], Rule("Settings", "A setting that differs")]
REPLAYED = rf"^(earliest|{_TIME})$"
WINDOWED = tuple(name for name, job in JOBS.items() if job.stateful)
NEEDED = Annotated[str, Rule("Reason", "Why; kept in the audit", longest=1000, pattern=r"\S", needed=True)]
VersionKey = tuple[str, int]
"""A job and a version of it."""


def which_jobs(meaning: str, initial: tuple[str, ...] = WINDOWED[:1]) -> Rule:
    """The rule of a field that names jobs."""
    return Rule("Jobs", meaning, words=NAMES, needed=True, initial=initial)


class HalfAVersion(Refusal):
    """A retirement by hand names a job without a version, or the other way round."""

    def __init__(self) -> None:
        super().__init__(
            "a retirement by hand needs the job and the version, a sweep needs neither; nothing was changed. "
            "Give both or none."
        )


class NothingSaid(Refusal):
    """A version is to be retired by hand, and nobody says why."""

    def __init__(self, job: str, version: int) -> None:
        super().__init__(
            f"to retire {job} v{version} by hand needs a reason, for its rows and state go for good. Nothing was "
            "changed. Fill it in."
        )


@dataclass(frozen=True)
class DeployRequest(Request):
    """What somebody asks to be deployed; an empty artifact is the newest one, settings not named stay as they are."""

    verb: ClassVar = Verb.DEPLOY
    job: JobName
    start: Annotated[
        str,
        Rule("Start", "Where a first version starts: `earliest`, `latest`, or like 2026-01-31T09:30Z", pattern=START),
    ] = EARLIEST
    artifact: Digest = ""
    settings: Given = field(default_factory=dict)
    reason: Reason = None
    dry_run: DryRun = False
    when_held: Held = WhenHeld.REFUSE


@dataclass(frozen=True)
class StopRequest(Request):
    """A job that is to stop until it is started."""

    verb: ClassVar = Verb.STOP
    job: JobName
    reason: Reason = None
    dry_run: DryRun = False
    when_held: Held = WhenHeld.REFUSE


@dataclass(frozen=True)
class RescaleRequest(Request):
    """Other numbers of state partitions, cores or executors for a job; None stays as it is."""

    verb: ClassVar = Verb.RESCALE
    job: JobName
    partitions: Annotated[int | None, number(STATE_PARTITIONS, "State partitions")] = None
    cores: Annotated[int | None, number(EXECUTOR_CORES, "Cores")] = None
    executors: Annotated[int | None, number(EXECUTORS)] = None
    reason: Reason = None
    dry_run: DryRun = False
    when_held: Held = WhenHeld.REFUSE

    @property
    def numbers(self) -> Mapping[str, int]:
        """The numbers that are asked for, by the setting's name."""
        asked = {STATE_PARTITIONS: self.partitions, EXECUTOR_CORES: self.cores, EXECUTORS: self.executors}
        return {name: number for name, number in asked.items() if number is not None}


@dataclass(frozen=True)
class AutoscaleRequest(Request):
    """All jobs are looked at; the policy in the settings decides."""

    verb: ClassVar = Verb.AUTOSCALE
    reason: Reason = None
    dry_run: DryRun = False


@dataclass(frozen=True)
class RepairRequest(Request):
    """What is to be looked at, and repaired where it may be; None: every job."""

    verb: ClassVar = Verb.REPAIR
    job: Annotated[str | None, Rule("Job", "A job of the catalogue", words=NAMES, empty="every one")] = None
    reason: Reason = None
    dry_run: DryRun = False


@dataclass(frozen=True)
class PromoteRequest(Request):
    """Jobs whose candidates are to serve."""

    verb: ClassVar = Verb.PROMOTE
    jobs: Annotated[tuple[str, ...], which_jobs("Which **jobs**: all those of one replay")]
    reason: NEEDED
    dry_run: DryRun = False
    when_held: Held = WhenHeld.REFUSE


@dataclass(frozen=True)
class RollbackRequest(Request):
    """Jobs whose newest release is to be undone."""

    verb: ClassVar = Verb.ROLLBACK
    jobs: Annotated[tuple[str, ...], which_jobs("Which **jobs**: all those of their newest release")]
    reason: NEEDED
    dry_run: DryRun = False
    when_held: Held = WhenHeld.REFUSE


@dataclass(frozen=True)
class RetireRequest(Request):
    """The version that is to go now; without one, all whose time is over."""

    verb: ClassVar = Verb.RETIRE
    job: Annotated[str | None, Rule("Job", "A job of the catalogue", words=NAMES, empty="a sweep")] = None
    version: Annotated[
        int | None,
        Rule("Version", "The version to retire now, whatever its age", least=1, empty="all whose time is over"),
    ] = None
    reason: Reason = None
    dry_run: DryRun = False

    def chosen(self) -> VersionKey | None:
        """The one version that is asked for; None: a sweep, which needs no reason. Raises HalfAVersion, NothingSaid."""
        if (self.job is None) != (self.version is None):
            raise HalfAVersion
        if self.job is None or self.version is None:
            return None
        if not self.dry_run and not (self.reason or "").strip():
            raise NothingSaid(self.job, self.version)
        return self.job, self.version


@dataclass(frozen=True)
class ValidateRequest(Request):
    """How much of what is served is looked at; it changes none of it."""

    verb: ClassVar = Verb.VALIDATE
    hours: Annotated[
        int,
        Rule("Hours", "How many hours of windows are looked at, up to the newest one that is final", 1, 168),
    ] = 3  # fmt: skip
    reason: Reason = None
    dry_run: DryRun = False
