"""What all tests share: one real stack for the whole run, started beside the tests that need none, and used last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from bench.small_stack import small_stack
from jobs.settings import Settings
from stack.layout import Layout
from tests.running_stack import JOBS, Stack, Starting, starting


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on the real stack come last: what is wrong without it shows first. The very last have one of their own, for
    which the shared one is taken down."""
    items.sort(key=lambda item: (_is_integration(item), "own" in _fixtures(item)))


def _is_integration(item: pytest.Item) -> bool:
    return item.get_closest_marker("integration") is not None


def _fixtures(item: pytest.Item) -> Sequence[str]:
    return getattr(item, "fixturenames", ())


@pytest.fixture(scope="session", autouse=True)
def shared(request: pytest.FixtureRequest) -> Iterator[Starting | None]:
    """The shared stack, begun before the first test; None where no test of this run needs it."""
    if not any(_is_integration(item) and "live" in _fixtures(item) for item in request.session.items):
        yield None
        return
    with starting() as begun:
        yield begun


@pytest.fixture(scope="session")
def live(shared: Starting) -> Stack:
    """A real stack with an empty log, on ports and folders of its own, beside a stack that may be running."""
    return shared.stack()


@pytest.fixture(scope="session")
def stack(live: Stack) -> Settings:
    """The settings of that stack."""
    return live.settings


@pytest.fixture(scope="session")
def deployed(live: Stack) -> Stack:
    """The stack with all jobs of the catalogue deployed from the beginning of the log."""
    live.kappa("deploy", *JOBS, "--reason", "test")
    return live


@pytest.fixture(scope="session")
def parts() -> Iterator[Layout]:
    """Rig R0: Kafka with the topic, and Postgres with the schema, on ports and folders of their own; no whole stack."""
    with small_stack(partitions=2) as layout:
        yield layout
