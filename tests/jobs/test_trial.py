"""A trial runs one batch on a copy, or says that there was nothing to read, or why the new code does not run."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs import trial
from jobs.sinks.noop_sink import NoopSink
from jobs.trial import TrialFailed, attempt, wait_for_batch
from kappa.core.checkpoint.copies import copy_running
from kappa.core.checkpoint.reader import Checkpoint
from kappa.core.store.places import at
from tests.jobs import streams
from tests.rigs.checkpoint_folders import folder_of, in_folder


@pytest.fixture
def source(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of one event, which the stream below has read."""
    folder = tmp_path_factory.mktemp("source")
    streams.add(spark, folder / "in", [streams.event(1, 0)])
    streams.run(streams.writer(spark, folder / "in", folder / "g1"))
    return folder


def _copy(source: Path, target: Path) -> Checkpoint:
    copy_running(at(source / "g1"), at(target))
    return in_folder(target)


def test_without_a_new_record_a_start_is_all_that_is_tried(
    spark: SparkSession, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "QUIET_SECONDS", 0.5)
    copy, sink = _copy(source, tmp_path / "copy"), NoopSink()
    outcome = attempt("v", streams.writer(spark, source / "in", folder_of(copy), sink), copy, sink)
    assert "nothing to read" in outcome.sentence
    assert outcome.evidence["batch"] == "none"


def test_one_batch_is_computed_on_the_copy_alone(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    streams.add(spark, source / "in", [streams.event(2, 0), streams.event(3, 1)])
    before, copy, sink = streams.files(source / "g1"), _copy(source, tmp_path / "copy"), NoopSink()
    outcome = attempt("v", streams.writer(spark, source / "in", folder_of(copy), sink), copy, sink)
    assert outcome.evidence["rows"] == 2
    assert outcome.evidence["batch"] == "committed"
    assert copy.newest_committed() == 1
    assert streams.files(source / "g1") == before


def test_code_that_does_not_fit_the_state_fails_the_trial(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    """client_spend has a key less than ad_ctr: Spark refuses it on the state of the other."""
    streams.add(spark, source / "in", [streams.event(4, 0)])
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    copy, sink = _copy(source, tmp_path / "copy"), NoopSink()
    with pytest.raises(TrialFailed, match="STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"):
        attempt("v", streams.writer(spark, source / "in", folder_of(copy), sink, job="client_spend"), copy, sink)


class FakeQuery:
    """A query that ends when its clock says so."""

    status: Any = {"message": "Waiting for data to arrive"}

    def __init__(self, ends: float = 10**9) -> None:
        self.now, self._ends = 0.0, ends

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's name
        """Whether it has not ended."""
        return self.now < self._ends

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


@pytest.mark.parametrize(
    ("progress", "said", "until"),
    [
        (lambda now: "none", "none", trial.QUIET_SECONDS),
        (lambda now: "running", "running", trial.LIMIT_SECONDS),
        (lambda now: "running" if now < 30 else "none", "none", 30),
        (lambda now: "running" if now < 100 else "committed", "committed", 100),
    ],
    ids=["nothing to read", "a batch that takes too long", "a slow start, then nothing", "a slow batch"],
)
def test_how_long_a_trial_waits(progress: Callable[[float], str], said: str, until: float) -> None:
    query = FakeQuery()
    assert wait_for_batch(query, lambda: progress(query.now), lambda: query.now, query.sleep) == said
    assert query.now == pytest.approx(until, abs=1)


def test_a_trial_does_not_wait_for_a_query_that_ended() -> None:
    query = FakeQuery(ends=5)
    assert wait_for_batch(query, lambda: "running", lambda: query.now, query.sleep) == "running"
    assert query.now == pytest.approx(5, abs=1)
