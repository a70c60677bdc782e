"""The CPU time of Spark's Python worker for a task that decodes records, over that of the same task in a worker that
looks at all it has loaded after each task, as PySpark's do by themselves.

Command: python -m bench.python_workers [--records 1000] [--tasks 100] [--times 3] [--json]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from statistics import median
from typing import Annotated

import psutil
import pyarrow as pa
import typer
from pyspark.sql import DataFrame, SparkSession

from bench import report
from bench.load import KNOBS, now_ms
from jobs import schemas
from jobs.transforms.decode import cut, decode, decode_batch
from traffic.shape import Shape
from traffic.sources import plan_synthetic

WARM_UP_TASKS = 30
SPAN_SECONDS = 600.0


def main(
    records: Annotated[int, typer.Option(min=1, help="Of a task.")] = 1_000,
    tasks: Annotated[int, typer.Option(min=1, help="Measured ones, after a warm-up.")] = 100,
    times: Annotated[int, typer.Option(min=1, help="Of each kind of worker, in turn.")] = 3,
    as_json: report.Json = False,
) -> None:
    """Measure it in a Spark of its own on one core; no stack is needed."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    found: dict[str, list[float]] = {name: [] for name in WORKS}
    for _ in range(times):
        for name, work in WORKS.items():
            found[name].append(_milliseconds(work, records, tasks))
            report.say(f"{name}: {found[name][-1]:.1f} ms of CPU a task")
    base = median(found["by itself"])
    if as_json:
        report.document({"records": records, "tasks": tasks, "milliseconds": found})
        return
    rows = [(name, median(of), min(of), max(of), median(of) / base) for name, of in found.items()]
    report.table(f"a task of {records:,} records", ("worker", "ms of CPU", "least", "most", "x"), rows)


def _by_itself(rows: DataFrame) -> DataFrame:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from map(decode_batch, batches)

    return cut(rows).mapInArrow(run, schemas.EVENT)


WORKS: dict[str, Callable[[DataFrame], DataFrame]] = {"by itself": _by_itself, "as the jobs have it": decode}


def _milliseconds(work: Callable[[DataFrame], DataFrame], records: int, tasks: int) -> float:
    """CPU of the workers per task, user and system, in ms."""
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        spark.sparkContext.setLogLevel("ERROR")
        rows = spark.createDataFrame(_rows(records), schemas.RECORD).coalesce(1).cache()
        _run(work(rows), WARM_UP_TASKS)
        before = _cpu_seconds()
        _run(work(rows), tasks)
        return (_cpu_seconds() - before) / tasks * 1_000
    finally:
        spark.stop()


def _run(decoded: DataFrame, tasks: int) -> None:
    for _ in range(tasks):
        decoded.write.format("noop").mode("overwrite").save()


def _cpu_seconds() -> float:
    """Of all Python processes below this one, which are PySpark's daemon and its workers."""
    below = psutil.Process(os.getpid()).children(recursive=True)
    times = [process.cpu_times() for process in below if "python" in process.name()]
    return sum(each.user + each.system for each in times)


def _rows(count: int) -> list[tuple[int, int, int, bool, bytes | None, bytes | None]]:
    shape = Shape(1, count, fractions=KNOBS)
    played = plan_synthetic(now_ms(), shape, SPAN_SECONDS, None).records
    return [(0, offset, now_ms(), True, record.key, record.value) for offset, record in enumerate(played)]


if __name__ == "__main__":
    report.run(main)
