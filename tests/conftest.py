"""What all tests share: one real stack for the whole run, started when the first test asks for it, and used last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from jobs.settings import Settings
from tests.running_stack import JOBS, Stack, running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on the real stack come last: what is wrong without it shows first. The very last have one of their own, for
    which the shared one is taken down."""
    items.sort(key=lambda item: (item.get_closest_marker("integration") is not None, "own" in _fixtures(item)))


def _fixtures(item: pytest.Item) -> Sequence[str]:
    return getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def live() -> Iterator[Stack]:
    """A real stack with an empty log, on ports and folders of its own, beside a stack that may be running."""
    with running() as stack:
        yield stack


@pytest.fixture(scope="session")
def stack(live: Stack) -> Settings:
    """The settings of that stack."""
    return live.settings


@pytest.fixture(scope="session")
def deployed(live: Stack) -> Stack:
    """The stack with all jobs of the catalogue deployed from the beginning of the log."""
    live.kappa("deploy", *JOBS, "--reason", "test")
    return live
