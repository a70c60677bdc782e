"""A peer's process: marked as of the stack, started where its log is, killed and started again, and heard."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import psutil
import pytest

from bench.peers.processes import PeerEnded, Process
from kappa.core.installation.settings import Settings
from stack.layout import MARKER

WAITS = "import time; print('READING 17', flush=True); time.sleep(60)"


def process(tmp_path: Path, program: str) -> Process:
    """One that runs a line of Python."""
    folder = tmp_path / "folder"
    folder.mkdir()
    return Process(Settings(tmp_path), "peer", [sys.executable, "-c", program], folder / "peer.log")


def said(of: Process) -> str:
    """What it printed, once it did."""
    deadline = time.monotonic() + 30
    while not (text := of.log.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return text


def test_it_runs_in_the_folder_of_its_log_with_the_mark_of_the_stack(tmp_path: Path) -> None:
    made = process(tmp_path, f"import os; print(os.getcwd(), os.environ['{MARKER}'])")
    made.start()
    assert made.ended(30) == 0
    assert said(made).split() == [str(tmp_path / "folder"), str(tmp_path)]


def test_it_tells_when_it_took_its_first_record(tmp_path: Path) -> None:
    made = process(tmp_path, WAITS)
    assert made.reading_ms() is None
    made.start()
    assert said(made)
    assert made.reading_ms() == 17
    made.stop()


def test_killed_it_is_gone_and_can_be_started_again(tmp_path: Path) -> None:
    made, others = process(tmp_path, WAITS), set(psutil.Process().children())
    made.start()
    said(made)
    [first] = set(psutil.Process().children()) - others
    made.kill()
    assert not first.is_running()
    made.start()
    made.check()
    made.stop()


def test_one_that_ends_by_itself_is_told_with_its_log(tmp_path: Path) -> None:
    made = process(tmp_path, "raise SystemExit(3)")
    made.check()
    made.start()
    made.ended(30)
    with pytest.raises(PeerEnded, match=r"'peer' ended with 3; .*peer\.log"):
        made.check()
    made.stop()


def test_one_that_does_not_end_in_time_has_no_code(tmp_path: Path) -> None:
    made = process(tmp_path, WAITS)
    made.start()
    assert made.ended(0.1) is None
    made.stop()
