"""What a validation is asked: the candidates, what each is compared with, and what may differ; or what serves, which is
held against itself.

A validation is a program of its own, so the request travels as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from kappa.core.job_catalog import Job
from kappa.core.measures import MEASURES
from kappa.core.serialization import Serializable

Name = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9_]{0,62}\Z")]
"""A job, table or column: it may stand in a statement as it is."""


class Parity(StrEnum):
    """What comparing candidate and live must show: the same rows, rows within declared bands, or nothing (it lists)."""

    EXACT = "exact"
    DECLARED = "declared"
    REPORT = "report"


class Direction(StrEnum):
    """Where a candidate's value may lie, seen from the live one."""

    UP = "up"
    DOWN = "down"
    ANY = "any"


class BadRequest(Exception):  # noqa: N818 - it is what it was given
    """The input is not what this program understands; nothing was compared."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the input of the validation is wrong: {what}. Nothing was compared.")


def other_side(column: str) -> str:
    """The column of the same measure on the other side; "" for a column of neither."""
    for mine, other in (("live_", "candidate_"), ("candidate_", "live_")):
        if column.startswith(mine):
            return other + column.removeprefix(mine)
    return ""


def telling_columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns of offending rows that say something: one with another side says it where the two differ in some row,
    any other always does."""
    names = rows[0] if rows else ()
    return [name for name in names if any(row.get(other_side(name), row) != row.get(name) for row in rows)]


@dataclass(frozen=True)
class Band(Serializable):
    """A measure that may differ, in a direction, by at most so many thousandths of the live value (None: any)."""

    column: str
    direction: Direction
    most_permille: Annotated[int, Meta(ge=0)] | None


@dataclass(frozen=True)
class Span(Serializable):
    """Windows that start at `since` or later and end by `until`."""

    since: datetime
    until: datetime


class Held(NamedTuple):
    """A version that is held against another one: where it starts (None: with the log), and what is final of it."""

    version: int
    starts_at: datetime | None
    complete_through: datetime | None


@dataclass(frozen=True)
class Subject(Serializable):
    """A candidate and the live version that it is compared with; or a version that serves, which stands for both, and
    of which only the windows `served` are looked at.

    `starts` are the first windows that the versions hold (None: all that the log holds), `through` what is final of
    them (None: unknown, so nothing is).
    """

    job: Name
    table: Name
    keys: tuple[Name, ...]
    measures: tuple[Name, ...]
    window: timedelta
    candidate: int
    live: int
    candidate_starts: datetime | None
    live_starts: datetime | None
    candidate_through: datetime | None
    live_through: datetime | None
    served: Span | None = None

    @classmethod
    def of(cls, job: Job, candidate: Held, live: Held, served: Span | None = None) -> Subject:
        """Two versions of a job."""
        return cls(
            job=job.name,
            table=job.table,
            keys=tuple(job.keys),
            measures=MEASURES if job.stateful else (),
            window=timedelta(milliseconds=job.window_ms),
            candidate=candidate.version,
            live=live.version,
            candidate_starts=candidate.starts_at,
            live_starts=live.starts_at,
            candidate_through=candidate.complete_through,
            live_through=live.complete_through,
            served=served,
        )

    @property
    def rows(self) -> str:
        """The partition that holds the candidate's rows, in schema data."""
        return f"{self.table}_v{self.candidate}"

    @property
    def windowed(self) -> bool:
        """Whether its rows are windows with measures; else they are records that were refused."""
        return bool(self.measures)

    @property
    def since(self) -> datetime | None:
        """The first window that both hold; of what serves the first one that is looked at."""
        return latest(self.candidate_starts, self.live_starts, self.served.since if self.served else None)

    @property
    def until(self) -> datetime | None:
        """Windows that end by then are final in both; None where that is unknown of one."""
        return self.served.until if self.served else earliest(self.candidate_through, self.live_through)


@dataclass(frozen=True)
class Request(Serializable):
    """A whole validation. `database` is a SQLAlchemy URL that names a password file, never a password; its search path
    is the schema of the rows. Of what serves there is no replay, and nothing that it is compared with."""

    replay_id: str | None
    run_id: str
    asked_by: str
    reason: str | None
    database: str
    parity: Parity
    bands: tuple[Band, ...]
    subjects: tuple[Subject, ...]

    @property
    def of_live(self) -> bool:
        """Whether it is about what serves, and not about candidates."""
        return all(s.served is not None for s in self.subjects)

    def subject(self, job: str) -> Subject | None:
        """The subject of a job, if it is one of them."""
        return next((s for s in self.subjects if s.job == job), None)


def read(held: Mapping[str, Any]) -> Request:
    """The request that the JSON holds. Raises BadRequest."""
    try:
        request = Request.from_json(held)
    except ValueError as error:
        raise BadRequest(str(error)) from error
    _check(request)
    return request


def latest(*moments: datetime | None) -> datetime | None:
    """The latest of the moments that are known; None without one."""
    return max((m for m in moments if m is not None), default=None)


def earliest(*moments: datetime | None) -> datetime | None:
    """The earliest moment; None where one is unknown."""
    known = [m for m in moments if m is not None]
    return min(known) if len(known) == len(moments) else None


def _check(request: Request) -> None:
    if not request.subjects:
        raise BadRequest("it names no candidate")
    if len({subject.served is None for subject in request.subjects}) > 1:
        raise BadRequest("it holds candidates and what serves")
    known = {measure for subject in request.subjects for measure in subject.measures}
    for band in request.bands:
        if band.column not in known:
            raise BadRequest(
                f"the band's column {band.column!r} is no measure; measures are {', '.join(sorted(known))}"
            )
    if len({band.column for band in request.bands}) < len(request.bands):
        raise BadRequest("it has two bands for one measure")
    if len({subject.job for subject in request.subjects}) < len(request.subjects):
        raise BadRequest("it names a job twice")
