"""When a driver that keeps dying is given up: the rules as values, and what its starts came to, on a real registry."""

from __future__ import annotations

import argparse
import secrets
import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest

from jobs import run
from jobs.driver.query_loop import Driver
from jobs.driver.registry import DriverRegistry
from jobs.driver.restarts import CrashLoop, Starts, StartsInVain, check
from jobs.driver.watermark import Ends
from kappa.core.installation.settings import Supervision
from kappa.core.versions import Desired
from stack.layout import Layout
from tests.plugins.registries import BY, PostgresTrial, version
from tests.rigs.case import Case
from tests.rigs.events import events
from tests.rigs.rig import Rig

LIMITS = Supervision(max_restarts=10, within_minutes=10, starts_in_vain=5)


@pytest.mark.parametrize("starts", [Starts(0, 0), Starts(9, 4)])
def test_below_both_limits_it_is_started_once_more(starts: Starts) -> None:
    check(starts, LIMITS)


def test_a_driver_that_dies_quickly_is_given_up_though_it_commits() -> None:
    with pytest.raises(CrashLoop, match=r"started 10 times within 10 minutes.*'\./kappa rollback' where it served b"):
        check(Starts(10, 0), LIMITS)


def test_a_driver_that_commits_nothing_is_given_up_however_long_its_starts_take() -> None:
    with pytest.raises(
        StartsInVain, match=r"5 times in a row, committed nothing while records wait.*is replayed again"
    ):
        check(Starts(1, 5), LIMITS)


@pytest.fixture
def trial(parts: Layout) -> Iterator[PostgresTrial]:
    with PostgresTrial(f"trial_{secrets.token_hex(4)}", parts.settings).prepared() as prepared:
        prepared.registry.stage(version(prepared.job), BY, {})
        yield prepared


@pytest.fixture
def driver(trial: PostgresTrial) -> Iterator[DriverRegistry]:
    """The driver's side of the registry; the version was staged for partitions 0, from 5, and 1, from 0."""
    registry = DriverRegistry(trial.settings, trial.job, 1)
    yield registry
    registry.close()


def starts(trial: PostgresTrial, driver: DriverRegistry, submission: str) -> None:
    """A start of the version's driver by a launch of its own, as supervision makes it."""
    launch = uuid.uuid4()
    trial.registry.intend_launch(trial.job, 1, launch)
    assert driver.claim(str(launch), submission)
    assert driver.take_over(str(launch), submission, 7) is not None
    driver.end_launch(str(launch), submission)


def in_vain(driver: DriverRegistry) -> int:
    return driver.starts("any", 10).in_vain


@pytest.mark.rig
def test_starts_are_in_vain_until_one_commits_whatever_their_submission(
    trial: PostgresTrial, driver: DriverRegistry
) -> None:
    for submission in ("driver-1", "driver-1", "driver-2"):
        starts(trial, driver, submission)
    assert driver.starts("driver-1", 10) == Starts(recent=2, in_vain=3)
    trial.commit(generation=1)
    assert driver.starts("driver-1", 10) == Starts(recent=2, in_vain=0)
    starts(trial, driver, "driver-2")
    assert driver.starts("driver-1", 10) == Starts(recent=2, in_vain=1)


@pytest.mark.rig
def test_a_start_that_had_nothing_to_read_is_not_in_vain_but_one_partition_that_stands_still_is_enough(
    trial: PostgresTrial, driver: DriverRegistry
) -> None:
    starts(trial, driver, "driver-1")
    driver.note_ends(Ends(driver.now_ms(), {0: 6, 1: 0}), drained=[1])
    assert in_vain(driver) == 1, "a record of partition 0 waits"
    driver.note_ends(Ends(driver.now_ms() + 1, {0: 6, 1: 0}), drained=[1])
    assert in_vain(driver) == 1
    starts(trial, driver, "driver-1")
    assert in_vain(driver) == 2


@pytest.mark.rig
def test_on_an_idle_log_no_start_is_in_vain(trial: PostgresTrial, driver: DriverRegistry) -> None:
    for _ in range(3):
        starts(trial, driver, "driver-1")
        driver.note_ends(Ends(driver.now_ms() + 1, {0: 5, 1: 0}), drained=[0, 1])
    assert in_vain(driver) == 0


@pytest.mark.rig
def test_what_somebody_asks_of_a_version_begins_the_count_anew_and_a_repair_does_not(
    trial: PostgresTrial, driver: DriverRegistry
) -> None:
    starts(trial, driver, "driver-1")
    trial.registry.desire(trial.job, 1, Desired.RUNNING)
    assert in_vain(driver) == 1, "it was wanted running before"
    trial.registry.desire(trial.job, 1, Desired.STOPPED)
    trial.registry.desire(trial.job, 1, Desired.RUNNING)
    assert in_vain(driver) == 0


class Crashed(Exception):  # noqa: N818 - it is what happens to the driver
    """The driver's process dies."""


def started(case: Case) -> int:
    """Start the driver's program as supervision does, always by the same launch, with the limits that users have."""
    staged = case.version()
    registry = DriverRegistry(case.settings, staged.job, staged.version)
    told = argparse.Namespace(
        home=case.settings.home, job=staged.job, version=staged.version, launch=str(staged.launch)
    )
    try:
        assert registry.claim(told.launch, staged.folder.name)
        return run._supervised(replace(case.settings, supervision=Supervision()), registry, told, staged.folder.name)
    finally:
        registry.close()


@pytest.fixture
def dying(cases: Rig, monkeypatch: pytest.MonkeyPatch) -> Case:
    """A version whose driver dies as soon as it has taken over, while records wait."""

    def die(_: object) -> None:
        raise Crashed

    monkeypatch.setattr(Driver, "run", die)
    case = cases.case()
    case.produce(events(20))
    case.launch()
    return case


@pytest.mark.rig
def test_with_the_limits_that_users_have_a_driver_that_commits_nothing_gives_up_at_its_sixth_start(
    dying: Case,
) -> None:
    for _ in range(5):
        assert dying.state() == "LIVE"
        with pytest.raises(Crashed):
            started(dying)
    assert started(dying) == 0, "supervision must not start it again"
    assert dying.state() == "FAILED"
    assert "was started 5 times in a row, committed nothing while records wait" in dying.red()["failed"]
    assert dying.query("select 1 from registry.launch where ended_at is null") == []


@pytest.mark.rig
def test_with_the_limits_that_users_have_a_driver_that_commits_and_dies_gives_up_at_its_eleventh_start(
    dying: Case,
) -> None:
    for _ in range(10):
        dying.query("update registry.progress set read_append_time = clock_timestamp()")
        with pytest.raises(Crashed):
            started(dying)
    assert dying.state() == "LIVE"
    dying.query("update registry.progress set read_append_time = clock_timestamp()")
    assert started(dying) == 0
    assert dying.state() == "FAILED"
    assert "was started 10 times within 10 minutes" in dying.red()["failed"]
