"""The log is not the one that was read: another topic of its name, a lost end, partitions that were added."""

from __future__ import annotations

import threading
from contextlib import closing, suppress

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewPartitions, NewTopic
from kafka.errors import TopicAlreadyExistsError
from kafka.structs import TopicPartition

from jobs import query, sources
from jobs.sinks.batch_sink import BatchSink
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.log.kafka_log import KafkaLog
from stack.waiting import until
from tests.rigs.case import Case
from tests.rigs.checkpoint_folders import folder_of
from tests.rigs.events import events
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
STAMPED = {"message.timestamp.type": "LogAppendTime"}


def admin(case: Case) -> closing[KafkaAdminClient]:
    return closing(KafkaAdminClient(**case.settings.kafka_access(KafkaUser.ADMIN).kafka_python()))


def make_again(case: Case) -> None:
    delete(case)
    make(case)


def delete(case: Case) -> None:
    """Delete the case's topic; once this returns, there is none of its name."""
    name = case.settings.topic.name
    with admin(case) as client:
        client.delete_topics([name])
        assert until(lambda: name not in client.list_topics(), 60)


def make(case: Case) -> None:
    """Make a topic of the case's name; once this returns, it is there."""
    name = case.settings.topic.name
    with admin(case) as client:
        topic = NewTopic(name, case.settings.topic.partitions, 1, topic_configs=STAMPED)

        def made() -> bool:
            if name not in client.list_topics():
                with suppress(TopicAlreadyExistsError):  # made, but the broker does not tell it yet
                    client.create_topics([topic])
            return name in client.list_topics()

        assert until(made, 60)


def read_some(rig: Rig, count: int = 40, **settings: int) -> Case:
    case = rig.case(**settings)
    case.produce(events(count))
    case.run_until_read()
    return case


class Held:
    """Holds whoever calls a function before it does anything."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, place: object, name: str) -> None:
        self.called, self.go = threading.Event(), threading.Event()
        function = getattr(place, name)

        def hold(*given: object) -> object:
            self.called.set()
            assert self.go.wait(120)
            return function(*given)

        monkeypatch.setattr(place, name, hold)


@pytest.mark.fault("F16", "FAILED: the topic is not the one that the version was staged for; nothing of it is written")
@pytest.mark.parametrize(
    "count",
    [pytest.param(10, marks=pytest.mark.red_without("topic id", "assert 'was staged for: its id is' in")), 200],
    ids=["fewer", "more"],
)
def test_a_topic_made_again_while_the_driver_is_stopped_is_refused_at_its_start(rig: Rig, count: int) -> None:
    case = read_some(rig)
    before = (case.rows(), case.progress())
    make_again(case)
    case.produce(events(count, 1_000))
    with case.driver() as program:
        program.await_end()
    assert case.state() == "FAILED"
    assert "was staged for: its id is" in case.red()["failed"]
    assert (case.rows(), case.progress()) == before


@pytest.mark.fault("F16", "the running driver gives up with the reason; no record of the new topic is counted")
@pytest.mark.parametrize("count", [10, 200], ids=["fewer", "more"])
def test_a_topic_made_again_under_a_running_driver_is_refused_before_its_first_commit(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(sources, "OFFSET_RETRIES", 5)  # a second, where the log ends before the position
    case = rig.case()
    case.produce(events(40))
    with case.driver() as program:
        program.await_read()
        before = (case.rows(), case.progress())
        make_again(case)
        case.produce(events(count, 1_000))
        program.until("the driver gives up", lambda: case.state() == "FAILED")
    assert "was staged for: its id is" in case.red()["failed"]
    assert (case.rows(), case.progress()) == before


@pytest.mark.fault("F16", "a query that begins while there is no such topic waits for it, and refuses another one")
def test_a_topic_that_is_gone_when_a_query_begins_is_waited_for_and_the_next_of_its_name_refused(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    case = read_some(rig)
    before = (case.rows(), case.progress())
    monkeypatch.setattr(sources, "OFFSET_RETRIES", 5)
    held = Held(monkeypatch, query, "_skew_ms")  # after the log was found to be the one that was read
    with case.driver() as program:
        assert held.called.wait(120)
        delete(case)
        held.go.set()
        program.until("it waits, or gives up", lambda: "waited for" in caplog.text or case.state() == "FAILED")
        make(case)
        case.produce(events(10, 1_000))
        program.until("the driver gives up", lambda: case.state() == "FAILED")
    assert "was staged for: its id is" in case.red()["failed"]
    assert (case.rows(), case.progress()) == before


@pytest.mark.fault("F16", "a batch in flight is rolled back: the topic's id is asked for beside its transaction")
def test_a_batch_whose_topic_was_made_again_after_it_was_read_is_not_committed(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = read_some(rig)
    before = (case.rows(), case.progress(), len(case.batches()))
    held = Held(monkeypatch, BatchSink, "_check_watermark")  # between the batch's action and its transaction
    monkeypatch.setattr("jobs.driver.execution.BATCH_SECONDS", 5)
    case.produce(events(10, 100))
    asked = BatchSink._write_once_told

    def asked_late(sink: BatchSink, batch: object, ends: object, _answer: object) -> object:
        """The question put once the topic was made again, as one would be that is put after the action."""
        now = sink._witness.ask(batch.end, {})  # type: ignore[attr-defined]
        return asked(sink, batch, ends, now)  # type: ignore[arg-type]

    monkeypatch.setattr(BatchSink, "_write_once_told", asked_late)
    with case.driver() as program:
        assert held.called.wait(120)
        make_again(case)
        held.go.set()
        program.until("the driver gives up", lambda: case.state() == "FAILED")
    assert "was staged for: its id is" in case.red()["failed"]
    assert (case.rows(), case.progress(), len(case.batches())) == before


def test_the_last_record_that_was_read_is_kept_with_its_append_time(rig: Rig) -> None:
    case = read_some(rig, 350, records_per_batch=100)
    found = case.query('select "partition", last_offset, round(extract(epoch from last_append_time) * 1000)::bigint '
                       "as ms, next_offset from registry.progress")  # fmt: skip
    with KafkaLog(case.settings.kafka_access(KafkaUser.CONTROL), case.settings.topic.name) as log:
        for row in found:
            assert row["last_offset"] == row["next_offset"] - 1
            assert row["ms"] == log.append_time(row["partition"], row["last_offset"])


@pytest.mark.red_without("position", "assert 'LIVE' == 'FAILED'")
def test_a_lost_end_of_the_log_whose_offsets_were_used_again_is_refused(rig: Rig) -> None:
    """The tail that a power cut took away is played by what was stored of it: another append_time at its offset."""
    case = read_some(rig)
    before = (case.rows(), case.progress())
    case.query("update registry.progress set last_append_time = last_append_time - interval '1 ms' "
               "where \"partition\" = 1")  # fmt: skip
    case.produce(events(10, 100))
    ends = case.ends()
    with case.driver() as program:
        program.until("it ends, or reads on", lambda: case.state() == "FAILED" or case.progress() == ends)
    assert case.state() == "FAILED"
    said = case.red()["failed"]
    assert f"topic {case.settings.topic.name}, partition 1: the record at offset" in said
    assert "'./kappa reprocess'" in said
    assert (case.rows(), case.progress()) == before


def test_a_log_that_ends_before_the_position_is_refused(rig: Rig) -> None:
    case = read_some(rig)
    case.query("update registry.progress set last_offset = null, last_append_time = null, "
               "next_offset = next_offset + 5 where \"partition\" = 0")  # fmt: skip
    case.query("update registry.batch set end_offsets = jsonb_set(end_offsets, '{0}', "
               "to_jsonb((end_offsets ->> '0')::bigint + 5))")  # fmt: skip
    file = folder_of(case.checkpoint()) / "offsets" / str(case.checkpoint().newest_planned())
    ends = case.ends()
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    file.write_text(file.read_text().replace(f'"0":{ends[0]}', f'"0":{ends[0] + 5}'))
    with case.driver() as program:
        program.await_end()
    assert f"partition 0: it was read up to offset {ends[0] + 5}, but ends at {ends[0]} now" in case.red()["failed"]


@pytest.mark.fault("F15", "FAILED: the log no longer holds what is to be read next, with partition and lost offsets")
def test_retention_that_passed_the_position_stops_the_driver_with_the_lost_range(rig: Rig) -> None:
    case = read_some(rig)
    before, position = case.rows(), case.progress()
    case.produce(events(40, 100))
    ends = case.ends()
    with admin(case) as client:
        client.delete_records({TopicPartition(case.settings.topic.name, 0): ends[0]})
    with case.driver() as program:
        program.await_end()
    assert f"partition 0: offsets {position[0]} to {ends[0] - 1} are gone" in case.red()["failed"]
    assert (case.rows(), case.progress()) == (before, position)


def test_retention_up_to_the_position_is_no_refusal(rig: Rig) -> None:
    case = read_some(rig)
    with admin(case) as client:
        position = {TopicPartition(case.settings.topic.name, p): o for p, o in case.progress().items()}
        client.delete_records(position)
    case.produce(events(10, 100))
    case.run_until_read()
    assert case.state() == "LIVE"
    assert case.accounts()["counted"] == 50


@pytest.mark.fault("F17", "red line 'topic' names the partitions; the rest is counted on, nothing of them is")
def test_partitions_that_were_added_are_red_and_not_counted_running_and_after_a_stop(rig: Rig) -> None:
    case = rig.case()
    case.produce(events(20))
    with case.driver() as program:
        program.await_read()
        with admin(case) as client:
            client.create_partitions({case.settings.topic.name: NewPartitions(4)})
        program.until("the red line", lambda: "topic" in case.red(), 30)
        case.produce([*events(10, 100, partition=3), *events(10, 200, partition=0)])
        program.until("partition 0 is read", lambda: case.progress()[0] == case.ends()[0])
    told = f"partitions [2, 3] were added to {case.settings.topic.name}; nothing of them is counted"
    assert case.red()["topic"] == told
    assert sorted(case.progress()) == [0, 1]
    assert case.accounts()["read"] == 30
    case.query("delete from registry.red_line")
    with case.driver() as program:
        program.until("the red line", lambda: "topic" in case.red(), 60)
    assert case.accounts()["read"] == 30
