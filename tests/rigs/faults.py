"""Code that dies: at its start, when it takes over, after some batches, or at a certain record."""

from __future__ import annotations

from enum import StrEnum

from tests.rigs.patches import Patch

SINK = "jobs/sinks/batch_sink.py"
BATCHES = 5
POISON = "crash-loop"
"""The client of the record at which the driver of the fault `record` dies."""
_TABLE = "        started = time.monotonic()\n        table = frame.toArrow()\n"


class Fault(StrEnum):
    """When the code dies."""

    START = "start"
    TAKE_OVER = "take_over"
    BATCHES = "batches"
    RECORD = "record"


PATCHES = {
    Fault.START: Patch(
        "a column that is not there", "jobs/query.py",
        "        built.writeStream", '        built.select("no_such_column").writeStream',
    ),
    Fault.TAKE_OVER: Patch(
        "the driver exits as it takes the version over", "jobs/run.py",
        "        taken = registry.take_over(",
        "        os._exit(9)\n        taken = registry.take_over(",
    ),
    Fault.BATCHES: Patch(
        f"the driver exits in its batch number {BATCHES + 1}", SINK, _TABLE,
        "        self._taken = getattr(self, '_taken', 0) + 1\n"
        f"        if self._taken > {BATCHES}:\n            __import__('os')._exit(9)\n{_TABLE}",
    ),
    Fault.RECORD: Patch(
        f"the driver exits at an event of client {POISON}", SINK, _TABLE,
        f"{_TABLE}        if '{POISON}' in table.column('client_id').to_pylist():\n"
        "            __import__('os')._exit(9)\n",
    ),
}  # fmt: skip
"""The trial sees the first; it has a sink of its own, and takes nothing over, so the others pass it."""
