"""Work in Spark's Python workers, after which a collection of garbage passes over what was loaded."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from jobs.transforms.python_worker import leave_out_what_is_loaded, on_each_batch


@pytest.mark.rig
def test_after_a_task_what_a_worker_has_loaded_is_not_looked_at_any_more(spark: SparkSession) -> None:
    def left_out(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """How many objects no collection in the worker looks at."""
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"id": [gc.get_freeze_count()] * len(batch)}, batch.schema)

    one = spark.range(1, numPartitions=1)
    assert one.mapInArrow(on_each_batch(lambda batch: batch), "id long").collect() == one.collect()
    (after,) = one.mapInArrow(left_out, "id long").collect()
    assert after.id > 20_000


def test_it_is_done_once_in_a_process() -> None:
    leave_out_what_is_loaded.cache_clear()
    try:
        before = gc.get_freeze_count()
        leave_out_what_is_loaded()
        frozen = gc.get_freeze_count()
        kept: list[list[int]] = [[] for _ in range(10_000)]
        leave_out_what_is_loaded()
        assert frozen > before
        # Threads of other tests let go of a few meanwhile.
        assert gc.get_freeze_count() < frozen + len(kept) // 2
    finally:
        gc.unfreeze()
