"""Who makes way for whom at the processor, and the ranks of real processes."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from jobs.driver import cpu_priority
from jobs.driver.cpu_priority import STANDS_STILL_SECONDS, Priority, Rank, Standstill, rank_of
from kappa.core.versions import State
from stack.waiting import until

SETTINGS = {"cadence_ms": 2_000, "records_per_batch": 4_000}
LARGE = 20_000
"""A large batch by these settings."""
LAUNCH = "4c5d9f3a"


@pytest.mark.parametrize(
    ("state", "unread", "makes_way"),
    [
        ("CATCHING_UP", None, True),
        ("CATCHING_UP", LARGE, True),
        ("CATCHING_UP", LARGE - 1, False),
        ("CAUGHT_UP", 10 * LARGE, False),
        ("LIVE", 10 * LARGE, False),
        ("LIVE", None, False),
        ("PREVIOUS", 10 * LARGE, False),
    ],
)
def test_only_what_is_far_behind_and_serves_nothing_makes_way(state: str, unread: int | None, makes_way: bool) -> None:
    assert rank_of(State(state), SETTINGS, unread, 0.0) is (Rank.LOWEST if makes_way else Rank.USUAL)


def test_who_makes_way_and_gets_nothing_done_is_given_a_share() -> None:
    ranks = [rank_of(State.CATCHING_UP, SETTINGS, LARGE, STANDS_STILL_SECONDS + more) for more in (-0.1, 0.0)]
    assert ranks == [Rank.LOWEST, Rank.LOW]
    assert rank_of(State.LIVE, SETTINGS, LARGE, STANDS_STILL_SECONDS) is Rank.USUAL


def test_a_driver_stands_still_from_its_start_or_its_newest_commit_on() -> None:
    still = Standstill(now=100.0)
    told = [still.seconds(batch_id, now) for batch_id, now in ((None, 130.0), (0, 140.0), (0, 150.0), (1, 150.0))]
    assert told == [30.0, 0.0, 10.0, 0.0]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., psutil.Process]]:
    """Starts a process of the JVM's name with a child: a shell, since only the name and the arguments count."""
    named, family = shutil.copy("/bin/sh", tmp_path / "java"), list[psutil.Process]()

    def start(*arguments: str) -> psutil.Process:
        told = [str(named), "-c", "sleep 60 & echo there; wait", *arguments]
        process = held.enter_context(subprocess.Popen(told, stdout=subprocess.PIPE))
        assert process.stdout is not None
        process.stdout.readline()
        top = psutil.Process(process.pid)
        family.extend([top, *top.children(recursive=True)])
        return top

    with ExitStack() as held:
        yield start
        for one in family:
            one.kill()


@pytest.fixture
def jvm(start: Callable[..., psutil.Process]) -> psutil.Process:
    """One of them."""
    return start("--launch", LAUNCH)


def ranks(top: psutil.Process) -> set[int]:
    return {os.getpriority(os.PRIO_PROCESS, one.pid) for one in (top, *top.children(recursive=True))}


@pytest.mark.skipif(not cpu_priority.may_return(), reason="this user may not take a rank back")
def test_the_jvm_and_its_children_make_way_and_come_back(jvm: psutil.Process) -> None:
    (usual,), own = ranks(jvm), os.getpriority(os.PRIO_PROCESS, 0)
    ranked = Priority(jvm.pid)
    for rank in (Rank.LOWEST, Rank.LOWEST, Rank.LOW, Rank.LOWEST, Rank.USUAL):
        ranked.follow(rank)
        assert ranks(jvm) == {min(19, usual + rank)}
    assert os.getpriority(os.PRIO_PROCESS, 0) == own


@pytest.mark.skipif(not cpu_priority.may_return(), reason="this user may not take a rank back")
def test_who_is_started_for_the_same_launch_is_held_back_until_it_takes_its_rank(
    start: Callable[..., psutil.Process], jvm: psutil.Process
) -> None:
    (usual,), stranger, relaunched = ranks(jvm), start("--launch", "another"), start("--launch", LAUNCH)
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(cpu_priority.hold_back, jvm.pid, LAUNCH, 1.0)
        assert until(lambda: ranks(relaunched) == {min(19, usual + Rank.LOWEST)}, 0.9)
        held.result()
    assert [ranks(each) for each in (jvm, stranger)] == [{usual}] * 2
    ranked = Priority(relaunched.pid)
    for rank in (Rank.LOW, Rank.USUAL):
        assert ranks(relaunched) == {min(19, usual + Rank.LOW)}
        ranked.follow(rank)
    assert ranks(relaunched) == {usual}


def test_nobody_is_held_back_who_could_not_return(
    start: Callable[..., psutil.Process], jvm: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    (usual,), relaunched = ranks(jvm), start("--launch", LAUNCH)
    monkeypatch.setattr(cpu_priority, "may_return", lambda: False)
    cpu_priority.hold_back(jvm.pid, LAUNCH, 0.1)
    assert ranks(relaunched) == {usual}


def test_a_rank_that_could_not_be_taken_back_is_kept(jvm: psutil.Process, monkeypatch: pytest.MonkeyPatch) -> None:
    (usual,) = ranks(jvm)
    monkeypatch.setattr(cpu_priority, "may_return", lambda: False)
    ranked = Priority(jvm.pid)
    for rank in (Rank.LOWEST, Rank.USUAL, Rank.LOW):
        ranked.follow(rank)
        assert ranks(jvm) == {usual}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_who_is_nobody_may_not_return() -> None:
    def ask() -> bool:
        resource.setrlimit(resource.RLIMIT_NICE, (0, 0))
        os.setuid(65_534)
        return cpu_priority.may_return()

    assert in_a_child(ask) is False


def in_a_child(ask: Callable[[], bool]) -> bool:
    """What `ask` finds in a process of its own, which it may change as it likes."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if ask() else 3)
        finally:
            os._exit(9)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 3)
    return code == 0
