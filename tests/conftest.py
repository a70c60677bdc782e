"""What all tests share: one real stack for the whole run, started when the first test asks for it, and used last."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobs.settings import Settings
from tests.running_stack import JOBS, Stack, running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on the real stack come last: what is wrong without it shows first."""
    items.sort(key=lambda item: item.get_closest_marker("integration") is not None)


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
