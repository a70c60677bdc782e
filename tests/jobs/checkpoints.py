"""A small checkpoint of a stream over files: how it is made, put back by a batch, and made into a generation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from jobs.rescale import generations
from jobs.rescale.state_proof import Proof
from kappa.core.checkpoint.reader import Checkpoint
from tests.jobs import streams
from tests.rigs.checkpoint_folders import folder_of

WINDOWS = 30


def fill(spark: SparkSession, folder: Path) -> None:
    """Three files: 30 windows; another event in one of them; an event in a window of its own."""
    streams.add(spark, folder, [streams.event(n, n % WINDOWS, "ab"[n % 2]) for n in range(90)])
    streams.add(spark, folder, [streams.event(90, 0)])
    streams.add(spark, folder, [streams.event(91, WINDOWS)])


def without_batch(checkpoint: Checkpoint, batch: int) -> Checkpoint:
    """The checkpoint as it was before its newest batch."""
    for folder in ("offsets", "commits"):
        (folder_of(checkpoint) / folder / str(batch)).unlink()
    return checkpoint


def make(
    spark: SparkSession, old: Checkpoint, number: int, partitions: int, pause: Callable[[str], None] = lambda _: None
) -> tuple[Checkpoint, Proof, int]:
    """A generation beside the one that it is made from, of a draft; between the two nothing happened."""
    with generations.draft(spark, old, old.place.parent, number, partitions) as work:
        return work, *generations.make(spark, old, work, partitions, pause)
