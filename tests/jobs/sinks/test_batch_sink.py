"""A driver's sink commits a batch only where the log is the one that was read and the watermark passes nothing unread;
on a real Postgres, with a log in memory and without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from jobs.driver.log_identity import LogRewritten, LogWitness, TopicReplaced
from jobs.driver.registry import connect
from jobs.driver.watermark import Ends, Reach, WatermarkTooFast, base_delay_ms
from jobs.pipelines.pipeline import Run
from jobs.sinks import observations
from jobs.sinks.batch_sink import BatchSink
from jobs.sinks.ledger import Batch
from jobs.transforms.tally import Observed
from kappa.core.job_catalog import find, resolve
from kappa.core.log.kafka_log import Identity
from tests.jobs.books import FIRST, SECOND, Desk, stored
from tests.jobs.held_log import VERSION, Held
from tests.jobs.records import NOON
from tests.rigs.checkpoint_folders import in_folder

pytestmark = pytest.mark.rig
SETTINGS = resolve(find("ad_ctr"), {})
FOUR_HOURS = 4 * 3_600_000
NEVER_READ = Ends(0, {0: 10**6, 1: 10**6})
"""Ends of the log of which no partition is near."""


@dataclass
class Stage:
    """A sink over a log of five records, as far as its batches are concerned."""

    desk: Desk
    log: Held
    checkpoint: Path
    sink: BatchSink
    observe: Callable[[Observed], None]

    def offer(self, batch: Batch) -> None:
        """The callback of one batch, as Spark calls it; each partition's last record was appended at NOON."""
        ends = {self.desk.book.owner.topic: {str(p): end for p, end in batch.end.items()}}
        planned = ["v1", json.dumps({"batchWatermarkMs": batch.watermark_ms}), json.dumps(ends)]
        (self.checkpoint / "offsets").mkdir(exist_ok=True)
        (self.checkpoint / "offsets" / str(batch.batch_id)).write_text("\n".join(planned))
        self.observe(replace(batch.observed, last_append_ms=dict.fromkeys(batch.end, NOON)))
        self.sink(SimpleNamespace(toArrow=lambda: batch.rows), batch.batch_id)  # type: ignore[arg-type]

    def refuses(self, batch: Batch, why: type[Exception]) -> None:
        """The batch ends the query, and nothing of it stays."""
        before = stored(self.desk.case, self.desk.book.owner.job)
        with pytest.raises(why):
            self.offer(batch)
        assert isinstance(self.sink.failure, why)
        assert stored(self.desk.case, self.desk.book.owner.job) == before, "nothing of it stays"


@pytest.fixture
def stage(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A sink of a job that has read two partitions up to NOON."""
    held = Held(times={0: [NOON] * 4, 1: [NOON]})
    witness = LogWitness(VERSION, lambda: held)  # type: ignore[arg-type, return-value]
    run = Run(SETTINGS, None, (0, 1), base_delay_ms(SETTINGS))
    owner = desk.book.owner
    connection = partial(connect, desk.case.settings, owner.job.name, owner.version, owner.epoch)
    sink = BatchSink(
        owner, run, in_folder(tmp_path), connection,
        Reach({0: NOON, 1: NOON}), lambda: NEVER_READ, lambda _: NEVER_READ, witness, {},
    )  # fmt: skip
    sink.attach(None)

    def observe(observed: Observed) -> None:
        monkeypatch.setattr(observations, "of_running_batch", lambda *_: observed)

    yield Stage(desk, held, tmp_path, sink, observe)
    sink.close()
    witness.close()


def test_a_batch_is_committed_where_all_agree(stage: Stage) -> None:
    stage.offer(stage.desk.book.batch(0, FIRST))
    stage.log.times = {0: [NOON] * 6, 1: [NOON] * 2}
    stage.offer(stage.desk.book.batch(1, SECOND))
    assert stage.desk.case.progress("ad_ctr") == {0: 6, 1: 2}
    assert stage.sink.committed.next_offsets == {0: 6, 1: 2}


@pytest.mark.red_without("topic id", "DID NOT RAISE .*TopicReplaced")
@pytest.mark.red_without("answer of the log", "DID NOT RAISE .*TopicReplaced")
@pytest.mark.red_without("one transaction", "AssertionError: nothing of it stays")
def test_a_topic_that_was_made_again_by_the_end_of_a_batch_takes_all_of_it_back(stage: Stage) -> None:
    """The rows are written by then, and the offsets: the log is asked last."""
    stage.log.now = Identity("two", {0: 7, 1: 7})
    stage.refuses(stage.desk.book.batch(0, FIRST), TopicReplaced)


@pytest.mark.red_without("position", "DID NOT RAISE .*LogRewritten")
@pytest.mark.red_without("answer of the log", "DID NOT RAISE .*LogRewritten")
def test_a_log_that_lost_what_the_last_batch_read_takes_the_next_one_back(stage: Stage) -> None:
    """The broker came back with a shorter log, and other records have the offsets since."""
    stage.offer(stage.desk.book.batch(0, FIRST))
    stage.log.times = {0: [NOON] * 3 + [NOON + 9] * 3, 1: [NOON] * 2}
    stage.log.now = Identity("one", {0: 8, 1: 7})
    stage.refuses(stage.desk.book.batch(1, [SECOND[2]]), LogRewritten)


@pytest.mark.red_without("position before", "DID NOT RAISE .*LogRewritten")
def test_what_was_read_before_the_last_batch_is_looked_for_too_where_that_batch_hides_the_loss(stage: Stage) -> None:
    """The log is longer again than all that was read of it, and holds all that the next batch reads."""
    stage.offer(stage.desk.book.batch(0, FIRST))
    stage.log.times = {0: [NOON] * 3 + [NOON + 9] + [NOON] * 2, 1: [NOON] * 2}
    stage.log.now = Identity("one", {0: 8, 1: 7})
    stage.refuses(stage.desk.book.batch(1, SECOND), LogRewritten)


@pytest.mark.red_without("guard", "DID NOT RAISE .*WatermarkTooFast")
def test_a_batch_whose_watermark_would_pass_what_is_unread_is_taken_back(stage: Stage) -> None:
    """Of partition 1 only what is four hours older was read: what comes next of it is not late, but behind."""
    stage.sink._reach = Reach({0: NOON, 1: NOON - FOUR_HOURS})
    batch = stage.desk.book.batch(0, FIRST[:4])
    stage.refuses(batch, WatermarkTooFast)
