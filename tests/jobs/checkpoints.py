"""A small checkpoint of a stream over files: how it is made, put back by a batch, and made into a generation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from jobs.rescale import generations
from jobs.rescale.state_proof import Proof
from kappa.core.checkpoint.reader import Checkpoint
from tests.jobs import streams

WINDOWS = 30


def fill(spark: SparkSession, folder: Path) -> None:
    """Three files: 30 windows; another event in one of them; an event in a window of its own."""
    streams.add(spark, folder, [streams.event(n, n % WINDOWS, "ab"[n % 2]) for n in range(90)])
    streams.add(spark, folder, [streams.event(90, 0)])
    streams.add(spark, folder, [streams.event(91, WINDOWS)])


def without_batch(checkpoint: Checkpoint, batch: int) -> Checkpoint:
    """The checkpoint as it was before its newest batch."""
    for folder in ("offsets", "commits"):
        (checkpoint.path / folder / str(batch)).unlink()
    return checkpoint


def make(
    spark: SparkSession, old: Checkpoint, target: Path, partitions: int, pause: Callable[[str], None] = lambda _: None
) -> tuple[Proof, int]:
    """A generation made from a draft, between which nothing happened."""
    with generations.draft(spark, old, target, partitions) as work:
        return generations.make(spark, old, work, target, partitions, pause)
