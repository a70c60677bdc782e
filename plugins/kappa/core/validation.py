"""What a validation is asked: the candidates, what each is compared with, and what may differ.

A validation is a program of its own, so the request travels as JSON: moments in epoch ms, null where one is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

MOMENTS = ("candidate_starts", "live_starts", "candidate_through", "live_through")
EPOCH = datetime.fromtimestamp(0, UTC)
IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,62}")


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
class Band:
    """A measure that may differ, in a direction, by at most so many thousandths of the live value (None: any)."""

    column: str
    direction: Direction
    most_permille: int | None

    def to_json(self) -> dict[str, Any]:
        """The band as JSON."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, held: Mapping[str, Any]) -> Band:
        """The band that `to_json` wrote. Raises KeyError, ValueError."""
        most = held["most_permille"]
        return cls(held["column"], Direction(held["direction"]), None if most is None else int(most))


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

    def to_json(self) -> dict[str, Any]:
        """The subject as JSON."""
        names = {"keys": list(self.keys), "measures": list(self.measures)}
        window = {"window_ms": self.window // timedelta(milliseconds=1)}
        moments = {f"{name}_ms": _epoch_ms(getattr(self, name)) for name in MOMENTS}
        plain = {name: getattr(self, name) for name in ("job", "table", "candidate", "live")}
        return {**plain, **names, **window, **moments}


@dataclass(frozen=True)
class Request:
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

    def to_json(self) -> dict[str, Any]:
        """The request as JSON, which `read` reads."""
        lists = {"bands": [band.to_json() for band in self.bands], "jobs": [s.to_json() for s in self.subjects]}
        plain = {name: getattr(self, name) for name in ("replay_id", "run_id", "asked_by", "reason", "database")}
        return {**plain, "parity": str(self.parity), **lists}


def read(held: Mapping[str, Any]) -> Request:
    """The request that the JSON holds. Raises BadRequest."""
    try:
        request = Request(
            replay_id=str(held["replay_id"]),
            run_id=str(held["run_id"]),
            asked_by=str(held["asked_by"]),
            reason=held["reason"],
            database=held["database"],
            parity=Parity(held["parity"]),
            bands=tuple(Band.from_json(band) for band in held["bands"]),
            subjects=tuple(_subject(job) for job in held["jobs"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadRequest(f"{type(error).__name__}: {error}") from error
    _check(request)
    return request


def latest(*moments: datetime | None) -> datetime | None:
    """The latest of the moments that are known; None without one."""
    return max((m for m in moments if m is not None), default=None)


def earliest(*moments: datetime | None) -> datetime | None:
    """The earliest moment; None where one is unknown."""
    known = [m for m in moments if m is not None]
    return min(known) if len(known) == len(moments) else None


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


def _moment(epoch_ms: int | None) -> datetime | None:
    return None if epoch_ms is None else EPOCH + timedelta(milliseconds=int(epoch_ms))


def _epoch_ms(moment: datetime | None) -> int | None:
    """The last whole millisecond up to a moment: rounded up, a window could seem final before it is."""
    return None if moment is None else (moment - EPOCH) // timedelta(milliseconds=1)


def _name(given: str) -> str:
    """A name that may stand in a statement as it is."""
    if not IDENTIFIER.fullmatch(given):
        raise BadRequest(f"{given!r} is no name of a job, table or column")
    return given


def _check(request: Request) -> None:
    if not request.subjects:
        raise BadRequest("it names no candidate")
    known = {measure for subject in request.subjects for measure in subject.measures}
    for band in request.bands:
        if band.column not in known:
            raise BadRequest(
                f"the band's column {band.column!r} is no measure; measures are {', '.join(sorted(known))}"
            )
        if band.most_permille is not None and band.most_permille < 0:
            raise BadRequest(f"the band of {band.column} allows {band.most_permille} thousandths, it must be 0 or more")
    if len({subject.job for subject in request.subjects}) < len(request.subjects):
        raise BadRequest("it names a job twice")
