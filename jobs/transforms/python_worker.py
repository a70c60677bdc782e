"""Work on Arrow batches in Spark's Python workers, which spend no time on garbage that is none."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from functools import cache

import pyarrow as pa

Work = Callable[[pa.RecordBatch], pa.RecordBatch]


def on_each_batch(work: Work) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A piece of work as `mapInArrow` takes it."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from map(work, batches)
        leave_out_what_is_loaded()

    return run


@cache
def leave_out_what_is_loaded() -> None:
    """Once in a process: collections of garbage pass over all that is there by now.

    PySpark's worker collects after each task and takes no other meanwhile. Of the 40,000 objects that it looks
    at then, nearly all are modules and live as long as the process (docs/decisions/0074).
    """
    gc.collect()
    gc.freeze()
