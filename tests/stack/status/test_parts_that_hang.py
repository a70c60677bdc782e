"""`status` while parts of a running stack stand still, or the registry cannot be read."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace

import psycopg
import pytest

from kappa.core.installation.settings import Settings
from kappa.core.spark_environment import search_path
from stack.layout import Layout
from stack.services import kafka as broker
from stack.services import postgres
from stack.services.passwords import SUPERUSER
from stack.status.overview import status
from stack.supervision import Supervisor, SupervisorSilent
from tests.rigs.small_stack import standing_still, suspended

pytestmark = pytest.mark.rig
COMMAND_SECONDS = 10.0
SLACK_SECONDS = 20.0
"""For a machine that is busy; without a bound it would last for ever."""


def timed(parts: Layout, settings: Settings | None = None) -> dict[str, str]:
    """The red lines of `status` with the bounds that it has."""
    begun = time.monotonic()
    found = status(settings or parts.settings, parts.checkout)["red"]
    assert time.monotonic() - begun < SLACK_SECONDS
    return dict(line["what"].partition(": ")[::2] for line in found)


@pytest.mark.parametrize("part", [postgres.NAME, broker.NAME])
def test_a_part_that_stands_still_is_red_while_it_does(parts: Layout, part: str) -> None:
    assert timed(parts) == {}
    with standing_still(parts, part):
        found = timed(parts)
    assert set(found) == {f"{part} does not answer"}
    assert timed(parts) == {}


@pytest.mark.long(minutes=1)
@pytest.mark.fault("F9", "Postgres, the broker and the supervisor hang at once: the command itself says so within 10 s")
def test_where_all_hang_the_command_says_so_within_ten_seconds(parts: Layout) -> None:
    command = (sys.executable, "-m", "cli.main", "status")
    own = {"KAPPA_HOME": str(parts.home), "PYTHONPATH": search_path(parts.checkout)}
    with standing_still(parts, postgres.NAME), standing_still(parts, broker.NAME), suspended(parts):
        begun = time.monotonic()
        told = subprocess.run(command, env={**os.environ, **own}, cwd=parts.checkout, capture_output=True, text=True)
        took = time.monotonic() - begun
    print(f"{took:.1f} s\n{told.stdout}")
    assert told.returncode == 1
    assert all(f"{part} does not answer" in told.stdout for part in (postgres.NAME, broker.NAME, "supervisor"))
    assert took < COMMAND_SECONDS


def test_while_the_supervisor_stands_still_it_is_red_and_the_stack_is_not_down(parts: Layout) -> None:
    with suspended(parts):
        found = timed(parts)
        with pytest.raises(SupervisorSilent, match=r"within 1 s.*supervisord\.pid"):
            Supervisor(parts, 1.0).running()
    assert set(found) == {"supervisor does not answer"}
    assert timed(parts) == {}


def test_a_registry_that_is_locked_is_red(parts: Layout) -> None:
    with psycopg.connect(parts.settings.dsn(SUPERUSER, parts.settings.database)) as connection:
        connection.execute("lock table registry.job_version in access exclusive mode")
        found = timed(parts)
        connection.rollback()
    assert set(found) == {"postgres does not answer"}


def test_a_postgres_without_a_registry_says_so(parts: Layout) -> None:
    found = timed(parts, replace(parts.settings, database="nowhere"))
    assert set(found) == {"postgres has no registry, or an older one"}
