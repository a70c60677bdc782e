"""What may differ under declared parity: the measures that can be named, and bands as they are written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kappa.core.catalog import Job
from kappa.core.measures import MEASURES
from kappa.core.refusals import Refusal
from kappa.core.validation import Band, Direction, Parity

_WRITTEN = re.compile(rf"([a-z_]+):({'|'.join(Direction)})(?::([0-9]+))?")


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
        given = ", ".join(text(band) for band in bands)
        super().__init__(
            f"bands ({given}) count under parity declared only, and parity {parity} was asked for; nothing was "
            "changed. Use parity declared, or leave the bands out."
        )


def read(written: str) -> Band:
    """The band that is written as COLUMN:DIRECTION or COLUMN:DIRECTION:PERMILLE. Raises InvalidBand."""
    found = _WRITTEN.fullmatch(written.strip())
    if not found:
        raise InvalidBand(written)
    column, direction, most = found.groups()
    return Band.from_json({"column": column, "direction": direction, "most_permille": int(most) if most else None})


def text(band: Band) -> str:
    """A band as `read` takes it."""
    most = "" if band.most_permille is None else f":{band.most_permille}"
    return f"{band.column}:{band.direction}{most}"


def check_bands(jobs: Sequence[Job], parity: Parity, bands: Sequence[Band]) -> None:
    """Pass when parity and bands go together. Raises NoBands, UnusedBands, UnknownBand, InvalidBand."""
    if parity is Parity.DECLARED and not bands:
        raise NoBands
    if parity is not Parity.DECLARED and bands:
        raise UnusedBands(parity, bands)
    known = MEASURES if any(job.stateful for job in jobs) else ()
    for band in bands:
        if band.column not in known:
            raise UnknownBand(band.column, known)
        if (band.most_permille or 0) < 0:
            raise InvalidBand(text(band))
