"""Seeds of random cases: chosen by Hypothesis, which prints the one that fails, or, for what is too slow for that, one
of each run, which stands in the test's name and can be given: `--seed 7`, as often as there are seeds."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

MOST = 2**32 - 1


def any_seed(cases: int) -> Callable[[Callable[..., None]], Any]:
    """A test of one argument, `seed`, made for so many seeds, other ones in each run."""

    def over(test: Callable[..., None]) -> Any:
        return settings(max_examples=cases, deadline=None, database=None)(given(seed=some.integers(0, MOST))(test))

    return over


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that gives seeds."""
    said = "Of tests with an argument `seed`: run them with this one; may be repeated. Else with one that is drawn."
    parser.addoption("--seed", type=int, action="append", help=said)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for a seed, and names none, runs with those given, or with one that nobody has chosen."""
    named = {name for mark in metafunc.definition.iter_markers("parametrize") for name in mark.args[:1]}
    if "seed" in metafunc.fixturenames and "seed" not in named:
        seeds = metafunc.config.getoption("--seed") or [secrets.randbelow(MOST)]
        metafunc.parametrize("seed", seeds, ids=lambda seed: f"seed {seed}")
