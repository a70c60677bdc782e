"""A driver that stands by takes over once the one that holds the launch is gone, at once and exactly; who is relaunched
after that stands by in its turn."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from jobs.driver import ownership
from jobs.driver.ownership import Failover
from jobs.driver.registry import DriverRegistry, connect
from jobs.standby import POLL_SECONDS, Watch
from stack.waiting import until
from tests.faults.struck_driver import Blow, Point
from tests.faults.submitted import Submitted, beating_since, submitted
from tests.rigs.case import Case
from tests.rigs.events import mixture
from tests.rigs.program import PATIENCE_SECONDS
from tests.rigs.rig import Rig
from tests.rigs.staged_driver import Staged

pytestmark = [pytest.mark.rig, pytest.mark.timeout(600, func_only=True)]
NEVER = 1_000_000
HOLDER, OTHER = "driver-1", "driver-2"
_UNREAD_FOR = """
update registry.progress set end_offset = next_offset + 1, drained_at = null,
    read_append_time = clock_timestamp() - make_interval(secs => %s)
"""


@dataclass(frozen=True)
class Second(Staged):
    """Another submission of the same launch."""

    @property
    def folder(self) -> Path:
        """The second one's working folder."""
        return self.layout.spark / f"standby-{self.job}-v{self.version}"


@pytest.fixture
def failover(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Case, Failover]]:
    """A case whose launch a driver holds, and the one that stands by for it."""
    monkeypatch.setattr(ownership, "GONE_SECONDS", 0.0)
    case = rig.case()
    case.query("update registry.launch set claimed_by = %s, claimed_at = clock_timestamp()", HOLDER)
    staged = case.version()
    made = Failover(partial(connect, case.settings, staged.job, staged.version, None), str(staged.launch), OTHER)
    yield case, made
    made.close()


@contextmanager
def at_work(case: Case, epoch: int = 1) -> Iterator[None]:
    """A connection of the driver that holds the launch."""
    staged = case.version()
    with connect(case.settings, staged.job, staged.version, epoch):
        yield


def launched(case: Case) -> dict[str, Any]:
    return case.query("select claimed_by, standby, standby_warm_at is not null as warm from registry.launch")[0]


def test_a_launch_is_taken_once_the_last_connection_of_its_driver_is_gone(failover: tuple[Case, Failover]) -> None:
    case, standby = failover
    standby.tell(warm=False)
    assert launched(case) == {"claimed_by": HOLDER, "standby": OTHER, "warm": False}
    standby.tell(warm=True)
    with at_work(case), at_work(case, 7):
        assert standby.look() is None
    with at_work(case, 7):
        assert standby.look() is None
    assert until(lambda: standby.look() is True, PATIENCE_SECONDS)
    assert launched(case) == {"claimed_by": OTHER, "standby": None, "warm": False}


def test_nothing_is_taken_of_who_was_not_seen_at_work_since_postgres_answers_again(
    failover: tuple[Case, Failover],
) -> None:
    case, standby = failover
    with at_work(case):
        assert standby.look() is None
        standby.close()
    assert [standby.look() for _ in range(3)] == [None] * 3
    assert launched(case)["claimed_by"] == HOLDER


@pytest.mark.parametrize(("seconds", "answer"), [(0.0, True), (PATIENCE_SECONDS, None)])
def test_who_once_beat_and_was_never_seen_is_replaced_after_a_while(
    failover: tuple[Case, Failover], monkeypatch: pytest.MonkeyPatch, seconds: float, answer: bool | None
) -> None:
    case, relaunched = failover
    monkeypatch.setattr(ownership, "LONG_GONE_SECONDS", seconds)
    beating_since(case, minutes=0)
    assert relaunched.look() is answer
    assert launched(case)["claimed_by"] == (OTHER if answer else HOLDER)


def test_who_comes_back_within_a_moment_keeps_it(
    failover: tuple[Case, Failover], monkeypatch: pytest.MonkeyPatch
) -> None:
    case, standby = failover
    monkeypatch.setattr(ownership, "GONE_SECONDS", PATIENCE_SECONDS)
    for _ in range(2):
        with at_work(case):
            assert standby.look() is None
        assert standby.look() is None
    assert launched(case)["claimed_by"] == HOLDER


def test_a_launch_that_has_ended_is_left(failover: tuple[Case, Failover]) -> None:
    case, standby = failover
    with at_work(case):
        assert standby.look() is None
    case.query("update registry.launch set ended_at = clock_timestamp()")
    assert standby.look() is False


def test_who_stands_by_leaves_a_stream_that_is_far_behind_alone(failover: tuple[Case, Failover]) -> None:
    case, _ = failover
    with at_work(case), kept_waiting(case) as (standby, waiting):
        case.query(_UNREAD_FOR, 20)
        waiting.result(PATIENCE_SECONDS)
        assert standby.answer is None


def test_a_driver_that_dies_far_behind_is_replaced_by_one_that_is_not_warm(failover: tuple[Case, Failover]) -> None:
    case, _ = failover
    with ExitStack() as driver:
        driver.enter_context(at_work(case))
        with kept_waiting(case) as (standby, waiting):
            driver.close()
            waiting.result(PATIENCE_SECONDS)
            assert standby.answer is True
    assert launched(case)["claimed_by"] == OTHER


@pytest.mark.fault(
    "F1", "with a standby: that one claims the launch within seconds and goes on, exact; who died stands by"
)
def test_when_a_driver_is_killed_the_one_that_stands_by_goes_on_and_the_relaunched_one_stands_by(
    rig: Rig, seed: int
) -> None:
    case = rig.case(records_per_batch=100)
    ask_for_standbys(case)
    first, second = case.version(), Second(**vars(case.version()))
    case.produce(mixture(seed, 300))
    with ExitStack() as held:
        driver = held.enter_context(spared(first))
        await_(driver, lambda: launched(case)["claimed_by"] == first.folder.name)
        standby = held.enter_context(spared(second))
        warm_beside(case, second.folder.name)
        case.relieve()
        psutil.Process(driver.python).send_signal(signal.SIGKILL)
        case.produce(mixture(seed + 1, 300))
        await_(driver, lambda: launched(case)["claimed_by"] == second.folder.name)
        await_(standby, lambda: case.progress() == case.ends())
        driver.await_end()
        with spared(first) as relaunched:
            warm_beside(case, first.folder.name)
            assert launched(case)["claimed_by"] == second.folder.name
            case.query("update registry.job_version set desired = 'stopped'")
            assert [each.await_end() for each in (standby, relaunched)] == [0, 0]
    case.check()
    assert case.query("select count(*) as n from registry.driver_start")[0]["n"] == 2


@contextmanager
def kept_waiting(case: Case) -> Iterator[tuple[Watch, Future[None]]]:
    """OTHER, which stands by for HOLDER and waits, since its stream is 35 s behind."""
    case.query(_UNREAD_FOR, 35)
    staged = case.version()
    with ExitStack() as held:
        registry = held.enter_context(closing(DriverRegistry(case.settings, staged.job, staged.version)))
        seen = Watch(case.settings, registry.describe(), registry, str(staged.launch), OTHER)
        standby = held.enter_context(closing(seen))
        waiting = held.enter_context(ThreadPoolExecutor(1)).submit(standby.wait_while_far_behind)
        with pytest.raises(TimeoutError):
            waiting.result(3 * POLL_SECONDS)
        yield standby, waiting


def ask_for_standbys(case: Case) -> None:
    """The settings of its drivers say so."""
    file = case.settings.home.parent / "kappa.toml"
    file.write_text(file.read_text().replace("[supervision]\n", "[supervision]\nwarm_standby = true\n"))


@contextmanager
def spared(staged: Staged) -> Iterator[Submitted]:
    """A driver's process that nothing strikes."""
    with submitted(staged, Point.BEFORE, Blow.STOP, spared=NEVER) as driver:
        yield driver


def warm_beside(case: Case, submission: str) -> None:
    """Wait until this submission stands by, warm."""
    assert until(lambda: launched(case)["warm"], PATIENCE_SECONDS), launched(case)
    assert launched(case)["standby"] == submission


def await_(driver: Submitted, holds: Callable[[], bool]) -> None:
    """Wait for something; fails the test with what the driver said."""
    assert until(holds, PATIENCE_SECONDS), driver.said[-4_000:]
