"""What the quarantine holds in memory is bounded, whatever keys and values the broker takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from cli.entry import CHECKOUT
from jobs.sinks import rows
from jobs.transforms.decode import KEPT_KEY, KEPT_VALUE, MOST_BYTES, cut
from kappa.core import job_catalog
from kappa.verbs.drivers.size import local_memory_mb
from stack.layout import Layout
from tests.jobs.records import dead_letters
from tests.rigs.events import Sent, events
from tests.rigs.rig import Rig
from tests.rigs.staged_driver import local_spark

pytestmark = pytest.mark.rig
MEGABYTE = 2**20
JOB = job_catalog.find("quarantine")


def test_no_more_than_some_megabytes_go_to_python_at_once(spark: SparkSession) -> None:
    def weighed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The size of each batch that comes to Python, and of its longest key and value."""
        for batch in batches:
            longest = [pc.max(pc.binary_length(batch.column(name))).as_py() for name in ("key", "value")]
            yield pa.RecordBatch.from_pylist([{"bytes": batch.nbytes, "key": longest[0], "value": longest[1]}])

    found = cut(dead_letters(spark, 400, MEGABYTE, MEGABYTE)).mapInArrow(weighed, "bytes long, key long, value long")
    measured = found.collect()
    assert {(row.key, row.value) for row in measured} == {(MOST_BYTES + 1, MOST_BYTES + 1)}
    assert sum(row.bytes for row in measured) > 400 * 2 * MOST_BYTES
    assert max(row.bytes for row in measured) < 17 * MEGABYTE


@pytest.mark.long(minutes=1)
def test_a_batch_of_nothing_but_long_dead_letters_fits_into_the_memory_of_a_driver(parts: Layout) -> None:
    """A process of its own, with the heap that a driver has by default, and no other test's leavings in it."""
    settings = job_catalog.resolve(JOB, {})
    most = settings["records_per_batch"]
    assert most == next(s.most for s in JOB.settings if s.name == "records_per_batch")
    ran = subprocess.run(
        [sys.executable, "-m", "tests.jobs.long_dead_letters", str(most), "5000", "5000"], cwd=CHECKOUT,
        env={**os.environ, **local_spark(parts.settings, local_memory_mb(settings))}, capture_output=True, text=True,
        timeout=200,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-1_000:] + ran.stderr[-4_000:]
    told = json.loads(ran.stdout.splitlines()[-1])
    assert (told["rows"], told["value_bytes"]) == (most, [5_000])
    assert told["bytes"] < most * (KEPT_KEY + KEPT_VALUE + 250)


def test_keys_as_long_as_the_broker_allows_are_kept_in_part(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    copied = rows.copy

    def weighed(cursor: object, job: job_catalog.Job, table: pa.Table) -> None:
        sizes.append(table.nbytes)
        copied(cursor, job, table)  # type: ignore[arg-type]

    monkeypatch.setattr(rows, "copy", weighed)
    case, good = rig.case("quarantine"), events(3)
    long = [Sent(bytes([byte]) * 900_000, value) for byte in range(20) for value in (good[0].value, b"\xff" * 50)]
    case.produce([*good, *long, *(Sent(b"u", b"\xff" * 900_000) for _ in range(10)), Sent(None, None)])
    case.run_until_read()
    case.check()
    assert max(sizes) < 51 * (KEPT_KEY + KEPT_VALUE + 250)
    kept = case.rows()
    assert len(kept) == 51
    assert {len(row["key"]) for row in kept if row["key"]} == {KEPT_KEY, 1}
    assert {row["value_bytes"] for row in kept} == {len(good[0].value or b""), 50, 900_000, None}
    assert {row["value_bytes"] for row in kept if len(row["value"] or b"") == KEPT_VALUE} == {900_000}
    assert {row["reason"] for row in kept if row["value_bytes"] == len(good[0].value or b"")} == {
        "the key is not the user_id"
    }
