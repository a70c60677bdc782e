"""Processes that outlived their supervisor are found by their mark and ended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kappa.core.installation.settings import Settings
from stack import leftovers
from stack.down import down
from stack.layout import MARKER

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
)
PARENT = (
    "import subprocess, sys, time; subprocess.Popen(['sleep', '60'], env={}, start_new_session=True); "
    "print('ready', flush=True); time.sleep(60)"
)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A state folder; whatever still carries its mark afterwards is killed."""
    (tmp_path / "state").mkdir()
    yield tmp_path / "state"
    for process in leftovers.marked(tmp_path / "state"):
        process.kill()


def spawn(home: Path, code: str) -> psutil.Process:
    """A marked process that has said that it is ready."""
    environment = {**os.environ, MARKER: str(home)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline()
    return psutil.Process(process.pid)


def test_marked_processes_and_their_descendants_are_found(home: Path) -> None:
    parent = spawn(home, PARENT)
    assert leftovers.marked(home) == {parent, *parent.children()}
    assert len(parent.children()) == 1
    assert leftovers.marked(home / "another") == set()


def test_the_caller_is_never_among_the_leftovers(home: Path) -> None:
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from pathlib import Path; from stack import leftovers\n"
        f"print(len(leftovers.marked(Path({str(home)!r}))))"
    )
    environment = {**os.environ, MARKER: str(home)}
    assert subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True).stdout == "0\n"


def test_what_ignores_the_request_is_killed(home: Path) -> None:
    stubborn = spawn(home, STUBBORN)
    leftovers.end([stubborn], grace=0.5)
    assert leftovers.alive([stubborn]) == set()


def test_down_ends_what_a_lost_supervisor_left(home: Path) -> None:
    parent = spawn(home, PARENT)
    child = parent.children()[0]
    said: list[str] = []
    down(Settings(home=home), home.parent, said.append)
    assert leftovers.alive([parent, child]) == set()
    assert "2 processes ended, none is left" in said[0]


def test_down_without_a_state_folder_is_harmless(tmp_path: Path) -> None:
    down(Settings(home=tmp_path / "state"), tmp_path, lambda line: None)
    assert not (tmp_path / "state").exists()
