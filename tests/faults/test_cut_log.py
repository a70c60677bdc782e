"""The end of a real broker's log is lost with its machine, and its offsets are used again: no job reads on over it."""

from __future__ import annotations

import struct
from pathlib import Path

import psutil
import pytest

from kappa.core.refusals import Refusal
from stack.layout import Layout
from stack.services import kafka
from stack.supervision import Supervisor
from stack.waiting import until
from tests.rigs.case import Case
from tests.rigs.events import events
from tests.rigs.rig import Rig
from tests.rigs.small_stack import suspended

pytestmark = [pytest.mark.rig, pytest.mark.long(minutes=2)]
PATIENCE_SECONDS = 120
HEAD_BYTES = 12
"""Of a batch in a segment: its first offset, then how many bytes follow."""
LOST = 2
"""Batches."""


def lose_the_end(parts: Layout, topic: str, partition: int) -> int:
    """Kill the broker and take the last batches of a partition from its disk, as a power cut does to what was not
    written through; it runs again afterwards. How many bytes were lost."""
    before = broker(parts)
    with suspended(parts):
        before.kill()
        assert until(lambda: before.status() == psutil.STATUS_ZOMBIE, PATIENCE_SECONDS)  # its parent stands still
        (segment,) = (parts.home / "kafka").rglob(f"{topic}-{partition}/*.log")
        lost = cut(segment)
    assert until(lambda: answers_anew(parts, before), PATIENCE_SECONDS)
    return lost


def cut(segment: Path) -> int:
    """Take the last batches of a segment away; how many bytes."""
    held, starts, at = segment.read_bytes(), list[int](), 0
    while at < len(held):
        starts.append(at)
        (length,) = struct.unpack_from(">i", held, at + HEAD_BYTES - 4)
        if length == 0:  # what was allocated in advance
            starts.pop()
            break
        at += HEAD_BYTES + length
    assert len(starts) > LOST, "there are too few batches"
    segment.write_bytes(held[: starts[-LOST]])
    return at - starts[-LOST]


def broker(parts: Layout) -> psutil.Process:
    (found,) = (process for process in Supervisor(parts).processes() if process.name == kafka.NAME)
    return psutil.Process(found.pid)


def answers_anew(parts: Layout, before: psutil.Process) -> bool:
    try:
        return broker(parts).pid not in (0, before.pid) and kafka.healthy(parts.settings)
    except (Refusal, OSError, psutil.Error):
        return False


def some(case: Case, first: int) -> None:
    """Records of partition 1, a batch each."""
    for event in events(5, first, partition=1):
        case.produce([event])


@pytest.mark.fault("F16", "FAILED: the end of the log was lost, and its offsets are used again for other records")
@pytest.mark.parametrize("runs", [False, True], ids=["stopped", "running"])
def test_the_end_of_a_log_that_was_lost_and_written_anew_is_refused(rig: Rig, runs: bool) -> None:
    case = rig.case()
    some(case, 0)
    if runs:
        with case.driver() as program:
            program.await_read()
            before = (case.rows(), case.progress())
            assert lose_the_end(rig.parts, case.settings.topic.name, 1) > 0
            some(case, 100)
            program.until("it gives up, or reads on", lambda: case.state() == "FAILED" or read_on(case, before[1]))
    else:
        case.run_until_read()
        before = (case.rows(), case.progress())
        assert lose_the_end(rig.parts, case.settings.topic.name, 1) > 0
        some(case, 100)
        with case.driver() as program:
            program.until("it gives up, or reads on", lambda: case.state() == "FAILED" or read_on(case, before[1]))
    assert case.state() == "FAILED", (before[1], case.progress(), case.ends())
    said = case.red()["failed"]
    print(said)
    assert f"topic {case.settings.topic.name}, partition 1: " in said  # what it finds hangs on when it looks
    assert "The end of the log was lost" in said
    assert (case.rows(), case.progress()) == before


def read_on(case: Case, before: dict[int, int]) -> bool:
    return case.progress() != before
