"""What may differ under declared parity: the measures that can be named."""

from __future__ import annotations

from collections.abc import Sequence

from kappa.core.catalog import Job
from kappa.core.measures import MEASURES
from kappa.core.refusals import Refusal
from kappa.core.requests.reprocessing import InvalidBand, band_text
from kappa.core.validation import Band, Parity


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
            raise InvalidBand(band_text(band))
