"""Finds processes of a stack by the mark in their environment, and ends what its supervisor left behind."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path

import psutil

from stack.layout import MARKER

GRACE_SECONDS = 15


def marked(home: Path) -> set[psutil.Process]:
    """Every process with the mark of this state folder, and its descendants, but not the caller."""
    own = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    found = {process for process in psutil.process_iter() if _mark(process) == str(home)}
    return {process for process in found | family(found) if process.pid not in own}


def family(processes: Iterable[psutil.Process]) -> set[psutil.Process]:
    """These processes and all their descendants."""
    found = set(processes)
    for process in list(found):
        with contextlib.suppress(psutil.Error):
            found.update(process.children(recursive=True))
    return found


def end(processes: Iterable[psutil.Process], grace: float = GRACE_SECONDS) -> None:
    """Ask each to end, and kill it when it has not within `grace` seconds."""
    asked = [process for process in processes if process.is_running()]
    for process in asked:
        with contextlib.suppress(psutil.Error):
            process.send_signal(_polite(process))
    _, left = psutil.wait_procs(asked, timeout=grace)
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, timeout=5)


def alive(processes: Iterable[psutil.Process]) -> set[psutil.Process]:
    """Those that still run; psutil tells a reused pid from the process that had it."""
    return {process for process in processes if process.is_running() and not _is_zombie(process)}


def _polite(process: psutil.Process) -> signal.Signals:
    """INT is the fast shutdown of Postgres; its TERM would wait for every client."""
    return signal.SIGINT if process.name() == "postgres" else signal.SIGTERM


def _mark(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(MARKER)
    except (psutil.Error, OSError):
        return None


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return True
