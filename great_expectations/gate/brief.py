"""What a validation is told: the candidates, what they are compared with, and what may differ; read from JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,62}")


class Parity(StrEnum):
    """What the comparison must show: the same rows, rows within declared bands, or nothing (it only lists)."""

    EXACT = "exact"
    DECLARED = "declared"
    REPORT = "report"


class Direction(StrEnum):
    """Where a candidate's value may lie, seen from the live one."""

    UP = "up"
    DOWN = "down"
    ANY = "any"


class BadBrief(Exception):  # noqa: N818 - it is what it was given
    """The input is not what this program understands; nothing was compared."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the input of the validation is wrong: {what}. Nothing was compared.")


@dataclass(frozen=True)
class Band:
    """A measure that may differ, in a direction, by at most so many thousandths of the live value (None: any)."""

    column: str
    direction: Direction
    most_permille: int | None


@dataclass(frozen=True)
class Subject:
    """A candidate and the live version that it is compared with.

    `starts` are the first windows that the versions hold (None: all that the log holds), `through` what is final of
    them (None: unknown, so nothing is).
    """

    job: str
    table: str
    keys: tuple[str, ...]
    measures: tuple[str, ...]
    window: timedelta
    candidate: int
    live: int
    candidate_starts: datetime | None
    live_starts: datetime | None
    candidate_through: datetime | None
    live_through: datetime | None

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
        """The first window that both hold."""
        return latest(self.candidate_starts, self.live_starts)

    @property
    def until(self) -> datetime | None:
        """Windows that end by then are final in both; None where that is unknown of one."""
        return earliest(self.candidate_through, self.live_through)


@dataclass(frozen=True)
class Brief:
    """A whole validation. `database` is a SQLAlchemy URL that names a password file, never a password; its search path
    is the schema of the rows."""

    replay_id: str
    run_id: str
    asked_by: str
    reason: str | None
    database: str
    parity: Parity
    bands: tuple[Band, ...]
    subjects: tuple[Subject, ...]

    def subject(self, job: str) -> Subject | None:
        """The subject of a job, if it is a candidate's."""
        return next((s for s in self.subjects if s.job == job), None)


def read(held: Mapping[str, Any]) -> Brief:
    """The brief that the JSON holds. Raises BadBrief."""
    try:
        brief = Brief(
            replay_id=str(held["replay_id"]),
            run_id=str(held["run_id"]),
            asked_by=str(held["asked_by"]),
            reason=held["reason"],
            database=held["database"],
            parity=Parity(held["parity"]),
            bands=tuple(_band(band) for band in held["bands"]),
            subjects=tuple(_subject(job) for job in held["jobs"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadBrief(f"{type(error).__name__}: {error}") from error
    _check(brief)
    return brief


def latest(*moments: datetime | None) -> datetime | None:
    """The latest of the moments that are known; None without one."""
    return max((m for m in moments if m is not None), default=None)


def earliest(*moments: datetime | None) -> datetime | None:
    """The earliest moment; None where one is unknown."""
    known = [m for m in moments if m is not None]
    return min(known) if len(known) == len(moments) else None


def _band(held: Mapping[str, Any]) -> Band:
    most = held["most_permille"]
    return Band(_name(held["column"]), Direction(held["direction"]), None if most is None else int(most))


def _subject(held: Mapping[str, Any]) -> Subject:
    return Subject(
        job=_name(held["job"]),
        table=_name(held["table"]),
        keys=tuple(_name(key) for key in held["keys"]),
        measures=tuple(_name(measure) for measure in held["measures"]),
        window=timedelta(milliseconds=int(held["window_ms"])),
        candidate=int(held["candidate"]),
        live=int(held["live"]),
        **{name: _moment(held[f"{name}_ms"]) for name in MOMENTS},
    )


MOMENTS = ("candidate_starts", "live_starts", "candidate_through", "live_through")


def _moment(epoch_ms: int | None) -> datetime | None:
    return None if epoch_ms is None else datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=int(epoch_ms))


def _name(given: str) -> str:
    """A name that may stand in a statement as it is."""
    if not IDENTIFIER.fullmatch(given):
        raise BadBrief(f"{given!r} is no name of a job, table or column")
    return given


def _check(brief: Brief) -> None:
    if not brief.subjects:
        raise BadBrief("it names no candidate")
    known = {measure for subject in brief.subjects for measure in subject.measures}
    for band in brief.bands:
        if band.column not in known:
            raise BadBrief(f"the band's column {band.column!r} is no measure; measures are {', '.join(sorted(known))}")
        if band.most_permille is not None and band.most_permille < 0:
            raise BadBrief(f"the band of {band.column} allows {band.most_permille} thousandths, it must be 0 or more")
    if len({subject.job for subject in brief.subjects}) < len(brief.subjects):
        raise BadBrief("it names a job twice")
