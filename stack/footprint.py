"""How much memory the stack's processes take together."""

from __future__ import annotations

import contextlib
from pathlib import Path

import psutil

from stack import leftovers


def memory_bytes(home: Path) -> int:
    """The proportional set size of all processes of a stack: shared pages are counted once."""
    return sum(memory_by_process(home).values())


def memory_by_process(home: Path) -> dict[psutil.Process, int]:
    """The proportional set size of each process of a stack, in bytes; one that ends meanwhile is left out."""
    sizes: dict[psutil.Process, int] = {}
    for process in leftovers.marked(home):
        with contextlib.suppress(psutil.Error):
            sizes[process] = process.memory_full_info().pss
    return sizes
