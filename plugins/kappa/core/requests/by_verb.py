"""The request of each verb: its fields in the form's order, with what each takes and means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, ClassVar

from kappa.core.catalog import EXECUTOR_CORES, JOBS, STATE_PARTITIONS
from kappa.core.requests.fields import Request, Rule, number
from kappa.core.verbs import Verb


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
    """Other numbers of state partitions or cores for a job; None stays as it is."""

    verb: ClassVar = Verb.RESCALE
    job: JobName
    partitions: Annotated[int | None, number(STATE_PARTITIONS, "State partitions")] = None
    cores: Annotated[int | None, number(EXECUTOR_CORES, "Cores")] = None
    reason: Reason = None
    dry_run: DryRun = False
    when_held: Held = WhenHeld.REFUSE


@dataclass(frozen=True)
class RepairRequest(Request):
    """What is to be looked at, and repaired where it may be; None: every job."""

    verb: ClassVar = Verb.REPAIR
    job: Annotated[str | None, Rule("Job", "A job of the catalogue", words=NAMES, empty="every one")] = None
    reason: Reason = None
    dry_run: DryRun = False
