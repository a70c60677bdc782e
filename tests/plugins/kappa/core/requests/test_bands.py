"""Bands of declared parity: as they are written, and what they may name."""

from __future__ import annotations

import pytest

from kappa.core.requests.reprocessing import (
    InvalidBand,
    NoBands,
    TwoBands,
    UnknownBand,
    UnusedBands,
    band_text,
    read_band,
)
from kappa.core.validation import Band, Direction, Parity
from tests.plugins.replay_plans import (
    CLICKS_DOWN,
    refusal,
)


def test_bands_and_parity_have_to_go_together() -> None:
    assert "at least one band" in refusal(NoBands, parity=Parity.DECLARED)
    assert "clicks:down:50" in refusal(UnusedBands, parity=Parity.REPORT, bands=(CLICKS_DOWN,))


def test_a_measure_has_one_band() -> None:
    """Of two only the last would count, and people would be shown both."""
    two = (Band("clicks", Direction.ANY, 50), Band("clicks", Direction.DOWN, None))
    assert "clicks:any:50 and clicks:down" in refusal(TwoBands, parity=Parity.DECLARED, bands=two)


def test_a_band_of_no_measure_of_the_jobs_is_refused() -> None:
    unknown = (Band("ctr", Direction.UP, None),)
    assert "'ctr'" in refusal(UnknownBand, parity=Parity.DECLARED, bands=unknown)
    assert "(they have none)" in refusal(UnknownBand, "quarantine", parity=Parity.DECLARED, bands=(CLICKS_DOWN,))


@pytest.mark.parametrize("written", ["clicks:down:50", "clicks:any", "seen_clicks:up:0"])
def test_a_band_is_written_as_it_is_read(written: str) -> None:
    assert band_text(read_band(written)) == written


@pytest.mark.parametrize("written", ["", "clicks", "clicks:less", "clicks:down:-1", "clicks:down:5:5", ":down"])
def test_what_is_no_band_is_refused(written: str) -> None:
    with pytest.raises(InvalidBand, match="nothing was changed"):
        read_band(written)
