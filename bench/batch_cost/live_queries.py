"""The program of `bench.batch_cost`: queries of some jobs over the live log in one Spark, their rows thrown away.

It prints one line of JSON: per job how long a batch's action took, and what the process used while it was measured. It
is started as a file, over the code of this checkout or of another one, so it asks of that code only what is old.
"""
# ruff: noqa: E402 - the path is put right before anything is imported by it

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

# Started as a file, this folder comes first on the path and would hide modules of other packages.
sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).resolve().parent]

import psutil
from pyspark.sql import DataFrame, SparkSession

from jobs import session, sources, stagger
from jobs.pipelines import windowed
from jobs.pipelines.pipeline import Run
from kappa.core import job_catalog
from kappa.core.installation import settings as installation
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.log.kafka_log import KafkaLog

DELAY_MS = 7_260_000
_OF_OLDER_CODE = {"evicting": False} if "evicting" in Run.__dataclass_fields__ else {}
"""Code from before decision 0096 would evict in each batch otherwise."""
THREADS = {
    "Executor task": "tasks",
    "stream executi": "query",
    "C1 Compiler": "compilers",
    "C2 Compiler": "compilers",
    "VM Thread": "collector",
    "GC Thread": "collector",
    "G1 ": "collector",
}
"""How the name of a JVM's thread begins, of which Linux keeps 15 characters, and what it is counted as; all others are
`rest of the JVM`."""


class Timed:
    """The callback of a job's query: computes each batch, and notes how long that took, in ms."""

    def __init__(self, job: str, cadence_ms: int) -> None:
        self._job, self._cadence_ms = job, cadence_ms
        self.took_ms: list[float] = []

    def __call__(self, frame: DataFrame, _: int) -> None:
        """Read all rows of a batch, and rest until the job's turn."""
        began = time.monotonic()
        frame.toArrow()
        took = time.monotonic() - began
        self.took_ms.append(took * 1_000)
        stagger.rest(self._job, self._cadence_ms, took)


def main() -> None:
    """Run what the JSON of the first argument asks for: home, jobs, settings, warm_up and seconds."""
    asked = json.loads(sys.argv[1])
    jobs = [job_catalog.find(name) for name in asked["jobs"]]
    given = {job.name: job_catalog.resolve(job, asked["settings"]) for job in jobs}
    spark = session.create("kappa-bench", given[jobs[0].name])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        timed = {job.name: Timed(job.name, given[job.name]["cadence_ms"]) for job in jobs}
        queries = [_start(spark, asked["home"], job, given[job.name], timed[job.name], folder) for job in jobs]
        time.sleep(asked["warm_up"])
        from_batch = {name: len(of.took_ms) for name, of in timed.items()}
        before, began = _used(), time.monotonic()
        time.sleep(asked["seconds"])
        after, seconds = _used(), time.monotonic() - began
        if failed := [str(query.exception()) for query in queries if not query.isActive]:
            raise SystemExit(f"Error: a query ended: {failed[0][:500]}")
        batches = {name: of.took_ms[from_batch[name] :] for name, of in timed.items()}
        told = {
            "batch_ms": {name: round(median(of)) for name, of in batches.items()},
            "batches": {name: len(of) for name, of in batches.items()},
            "ms_of_cpu_per_second": {name: round((after[name] - before[name]) / seconds * 1_000) for name in after},
            "resident_mb": _resident_mb(),
        }
        for query in queries:
            query.stop()
    print(json.dumps(told), flush=True)


def _start(
    spark: SparkSession, home: str, job: job_catalog.Job, given: dict[str, int], callback: Callable[..., None], to: str
) -> Any:
    read = installation.load(Path(home))
    access = read.kafka_access(KafkaUser.STREAM)
    with KafkaLog(access, read.topic.name) as log:
        ends = log.ends()
    records = sources.stream(spark, access, read.topic.name, ends, given)
    run = Run(given, None, tuple(sorted(ends)), DELAY_MS, **_OF_OLDER_CODE)
    writer = windowed.build(records, job, run).writeStream.outputMode("update").foreachBatch(callback)
    writer = writer.option("checkpointLocation", f"{to}/{job.name}")
    return writer.trigger(processingTime=f"{given['cadence_ms']} milliseconds").start()


def _used() -> defaultdict[str, float]:
    """CPU seconds so far, of the JVM by the kind of its threads, of Python's workers and of this process."""
    used: defaultdict[str, float] = defaultdict(float)
    own = psutil.Process()
    used["driver Python"] = _seconds(own)
    for process in own.children(recursive=True):
        if process.name() == "java":
            kinds = _by_thread(process)
            kinds["rest of the JVM"] += _seconds(process) - sum(kinds.values())
            for kind, seconds in kinds.items():
                used[kind] += seconds
        else:
            used["Python workers"] += _seconds(process)
    return used


def _by_thread(java: psutil.Process) -> defaultdict[str, float]:
    kinds: defaultdict[str, float] = defaultdict(float)
    for thread in java.threads():
        with suppress(FileNotFoundError):  # it has ended since
            name = Path(f"/proc/{java.pid}/task/{thread.id}/comm").read_text()
            if kind := next((kind for prefix, kind in THREADS.items() if name.startswith(prefix)), ""):
                kinds[kind] += thread.user_time + thread.system_time
    return kinds


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _resident_mb() -> int:
    """Proportional set size of this process and all below it."""
    total = 0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with suppress(psutil.Error, FileNotFoundError):  # it has ended since
            total += process.memory_full_info().pss
    return round(total / 1e6)


if __name__ == "__main__":
    main()
