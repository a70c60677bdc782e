"""Rules over random cases that are drawn from a seed: Hypothesis chooses the seeds and prints the one that fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as some


def any_seed(cases: int) -> Callable[[Callable[..., None]], Any]:
    """A test of one argument, `seed`, made for so many seeds, other ones in each run."""

    def over(test: Callable[..., None]) -> Any:
        return settings(max_examples=cases, deadline=None, database=None)(given(seed=some.integers(0, 2**32 - 1))(test))

    return over
