"""Both ways are measured in turn, the round that warms up is left out, and the ratio is of the middles."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import pytest

from tests.rigs.encryption.__main__ import in_turn, ratio


def test_each_round_measures_both_ways_and_the_first_counts_for_nothing() -> None:
    turns = count()

    def measure() -> Mapping[str, float]:
        return {"figure": float(next(turns))}

    found = in_turn({"plain": measure, "TLS": measure}, times=2)
    assert found == {"figure": {"plain": [2.0, 4.0], "TLS": [3.0, 5.0]}}


def test_the_ratio_is_of_the_middles() -> None:
    assert ratio({"plain": [1.0, 2.0, 90.0], "TLS": [3.0, 70.0, 2.0]}) == pytest.approx(1.5)
