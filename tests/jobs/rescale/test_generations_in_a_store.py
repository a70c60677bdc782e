"""A generation is made in a bucket of S3 and in HDFS as in a folder, without a rename.

At length what tests/jobs/test_state_in_a_store.py proves of a job.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.rescale import generations
from kappa.core.checkpoint.reader import Checkpoint
from kappa.core.store.location import Location
from kappa.core.store.places import at
from tests.jobs import streams
from tests.jobs.checkpoints import WINDOWS, fill, make
from tests.rigs.s3_server import files_in


@pytest.fixture
def of_version(spark: SparkSession, server_store: str) -> Iterator[Location]:
    """An empty place for a version's checkpoints, in a store that the session can use."""
    place = at(server_store.format("generations/ad_ctr/v1"))
    with files_in(spark, place.store):
        yield place


@pytest.mark.long(minutes=1)
def test_state_in_a_store_is_repartitioned_and_goes_on(
    spark: SparkSession, of_version: Location, tmp_path: Path
) -> None:
    source, old = tmp_path / "source", Checkpoint(of_version / "g1")
    fill(spark, source)
    streams.run(streams.writer(spark, source, old.place))
    untouched = old.place.files()
    (of_version / "g2-1a2b" / "commits" / "0").write(b"of a killed try")
    new, proof, base = make(spark, old, 2, 4)
    assert (proof.equal, proof.after[0].partitions, proof.after[0].rows, base) == (True, 4, WINDOWS + 1, 3)
    assert old.place.files() == untouched
    assert of_version.names() == {"g1", new.place.name}
    with pytest.raises(KeyboardInterrupt), generations.draft(spark, new, of_version, 3, 2):
        raise KeyboardInterrupt
    assert of_version.names() == {"g1", new.place.name}
    streams.add(spark, source, [streams.event(0, 0, "a"), streams.event(99, 1, "b", cost=7)])
    assert _rows_of(spark, source, old) == _rows_of(spark, source, new)


def _rows_of(spark: SparkSession, source: Path, checkpoint: Checkpoint) -> list[str]:
    """The rows that a stream over the checkpoint tells of what it has not read."""
    seen: list[str] = []

    def keep(frame: DataFrame, _batch_id: int) -> None:
        seen.extend(str(tuple(row)) for row in frame.collect())

    streams.run(streams.writer(spark, source, checkpoint.place, keep))
    assert len(seen) == 2
    return sorted(seen)
