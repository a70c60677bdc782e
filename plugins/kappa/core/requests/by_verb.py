"""The request of each verb: its fields in the form's order, with what each takes and means."""

from __future__ import annotations

from dataclasses import dataclass
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
