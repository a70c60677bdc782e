"""The requests that replay the log, to be promoted or as a proof; the bands in them, as they are written, and which of
them go with the jobs and the parity that are asked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from kappa.core.job_catalog import EXECUTOR_CORES, Approval, Job, find
from kappa.core.measures import MEASURES
from kappa.core.refusals import Refusal
from kappa.core.requests.fields import Request, Rule, number
from kappa.core.requests.lifecycle import (
    EARLIEST,
    REPLAYED,
    WINDOWED,
    Digest,
    DryRun,
    Held,
    Reason,
    WhenHeld,
    which_jobs,
)
from kappa.core.validation import Band, Direction, Parity
from kappa.core.verb_steps import Verb

LEAST_RATE = 2
MOST_RATE = 5_000_000
SPAN_MINUTES = 360
MOST_SPAN_MINUTES = 7 * 24 * 60
PROVING_CORES = 1
"""Of each candidate: nobody waits for a proof, and beside the live jobs of one machine there is no room for more."""
AS_LIVE = "as the live version has it"
BANDS = (
    "Under declared parity, one a line: COLUMN:up|down|any, or COLUMN:DIRECTION:N with at most N thousandths of the "
    "live value, like clicks:down:50"
)
_BAND = re.compile(rf"([a-z_]+):({'|'.join(Direction)})(?::([0-9]+))?")


class InvalidBand(Refusal):
    """A band is not written as one."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"band '{text}' is not COLUMN:{'|'.join(Direction)} or COLUMN:DIRECTION:N with N thousandths of "
            "the live value; nothing was changed. Write it like clicks:down:50, or clicks:down for any amount."
        )


class UnknownBand(Refusal):
    """No job that is replayed has a measure of that name."""

    def __init__(self, column: str, known: Sequence[str]) -> None:
        super().__init__(
            f"band '{column}' names no measure of the jobs to be replayed (they have {', '.join(known) or 'none'}); "
            "nothing was changed. Name one of these, or leave the band out."
        )


class NoBands(Refusal):
    """Declared parity declares nothing."""

    def __init__(self) -> None:
        super().__init__(
            "parity declared needs at least one band that says what may differ; nothing was changed. Give one (such "
            "as clicks:down), or use parity exact or report."
        )


class UnusedBands(Refusal):
    """Bands were given to a parity that has none."""

    def __init__(self, parity: Parity, bands: Sequence[Band]) -> None:
        given = ", ".join(band_text(band) for band in bands)
        super().__init__(
            f"bands ({given}) count under parity declared only, and parity {parity} was asked for; nothing was "
            "changed. Use parity declared, or leave the bands out."
        )


class TwoBands(Refusal):
    """A measure was given more than one band, of which only one could count."""

    def __init__(self, column: str, bands: Sequence[Band]) -> None:
        given = " and ".join(band_text(band) for band in bands)
        super().__init__(
            f"a measure has one band, and {column} was given {given}; nothing was changed. Leave all but one out."
        )


class NoJobs(Refusal):
    """A replay of nothing."""

    def __init__(self) -> None:
        super().__init__("a replay needs at least one job; nothing was changed. Name it: ./kappa reprocess JOB...")


def read_band(written: str) -> Band:
    """The band that is written as COLUMN:DIRECTION or COLUMN:DIRECTION:PERMILLE. Raises InvalidBand."""
    found = _BAND.fullmatch(written.strip())
    if not found:
        raise InvalidBand(written)
    column, direction, most = found.groups()
    return Band(column, Direction(direction), int(most) if most else None)


def band_text(band: Band) -> str:
    """A band as `read_band` takes it."""
    most = "" if band.most_permille is None else f":{band.most_permille}"
    return f"{band.column}:{band.direction}{most}"


def check_bands(jobs: Sequence[Job], parity: Parity, bands: Sequence[Band]) -> None:
    """Pass when parity and bands go together. Raises NoBands, UnusedBands, UnknownBand, InvalidBand, TwoBands."""
    if parity is Parity.DECLARED and not bands:
        raise NoBands
    if parity is not Parity.DECLARED and bands:
        raise UnusedBands(parity, bands)
    known = MEASURES if any(job.stateful for job in jobs) else ()
    for band in bands:
        if band.column not in known:
            raise UnknownBand(band.column, known)
        if (band.most_permille or 0) < 0:
            raise InvalidBand(band_text(band))
    for column, times in Counter(band.column for band in bands).items():
        if times > 1:
            raise TwoBands(column, [band for band in bands if band.column == column])


Bands = Annotated[
    tuple[Band, ...],
    Rule("Bands", BANDS, pattern=r"^\s*[a-z_]+:(up|down|any)(:[0-9]+)?\s*$", parse=read_band, text=band_text),
]
Compared = Annotated[
    Parity,
    Rule(
        "Parity", "What the comparison with the live version must show",
        shown={
            Parity.EXACT: "Exact: the same rows",
            Parity.DECLARED: "Declared: only the bands may differ",
            Parity.REPORT: "Report: differences are listed",
        },
    ),
]  # fmt: skip
Asks = Annotated[
    Approval | None,
    Rule(
        "Approval", "Whether somebody is asked before the promotion; only `ask` may differ from the jobs' policy",
        empty="as the policy says",
    ),
]  # fmt: skip
Cores = Annotated[int | None, number(EXECUTOR_CORES, "Cores", AS_LIVE)]
Rate = Annotated[
    int | None,
    Rule(
        "Read rate", "Most records a second that each candidate reads", LEAST_RATE, MOST_RATE,
        empty="as its settings say",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class ReprocessRequest(Request):
    """What somebody asks to be replayed, of one job or of several that are promoted together.

    An empty artifact is the newest one; settings not named stay as the live version has them, and one that only some
    of the jobs have counts for these. `approval` None: the policy decides. `cores` and `rate` (records/s) are per
    job; None: as the settings say. A proof sets `promote`, nobody else does.
    """

    verb: ClassVar = Verb.REPROCESS
    jobs: Annotated[tuple[str, ...], which_jobs("Which jobs; several are promoted together or not at all")]
    start: Annotated[
        str,
        Rule(
            "From", "T, the first window that is replayed: `earliest`, or a full minute like 2026-01-31T09:30Z",
            pattern=REPLAYED,
        ),
    ] = EARLIEST  # fmt: skip
    artifact: Digest = ""
    settings: Annotated[Mapping[str, int | str], Rule("Settings", "A setting that differs", empty=AS_LIVE)] = field(
        default_factory=dict
    )
    parity: Compared = Parity.EXACT
    bands: Bands = ()
    approval: Asks = None
    cores: Cores = None
    rate: Rate = None
    reason: Reason = None
    promote: bool = True
    dry_run: DryRun = False
    when_held: Held = WhenHeld.REFUSE

    def catalogued(self) -> tuple[Job, ...]:
        """The jobs, each once, by name, once it is known that the bands are theirs. Raises NoJobs, UnknownJob, NoBands,
        UnusedBands, UnknownBand, InvalidBand."""
        if not self.jobs:
            raise NoJobs
        jobs = tuple(find(name) for name in sorted(set(self.jobs)))
        check_bands(jobs, self.parity, self.bands)
        return jobs


@dataclass(frozen=True)
class ProveRequest(Request):
    """A replay of a closed span with the same code, compared exactly; thrown away unless it is to be promoted."""

    verb: ClassVar = Verb.PROVE
    jobs: Annotated[tuple[str, ...], which_jobs("Which jobs are replayed and compared", WINDOWED)] = WINDOWED
    minutes: Annotated[
        int,
        Rule(
            "Span", "How many minutes of windows are compared, up to the newest one that is final", 1, MOST_SPAN_MINUTES
        ),
    ] = SPAN_MINUTES  # fmt: skip
    promote: Annotated[
        bool,
        Rule(
            "Promote", "If they are equal, let the candidates serve, as the jobs' policy says; else throw them away"
        ),
    ] = False  # fmt: skip
    cores: Cores = PROVING_CORES
    rate: Rate = None
    reason: Reason = "proof on schedule"
    dry_run: DryRun = False

    def replay(self, start: str) -> ReprocessRequest:
        """The replay that it comes to, from this start on."""
        return ReprocessRequest(
            self.jobs, start, cores=self.cores, rate=self.rate, reason=self.reason, promote=self.promote
        )
