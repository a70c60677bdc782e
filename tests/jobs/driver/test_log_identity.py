"""The log is the one that was read, or nothing is read or written; a broker that is away is waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from jobs import query
from jobs.driver import log_identity, watcher
from jobs.driver.log_identity import LogRewritten, LogSilent, LogTooShort, LogWitness, TopicReplaced
from kappa.core.installation.addresses import Kafka
from kappa.core.installation.kafka_access import KafkaAccess, KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.log import kafka_log
from kappa.core.log.kafka_log import Appended, Identity, LastRead
from kappa.core.log.topic import MissingTopic, Topic, WrongTimestampType
from tests.jobs.held_log import VERSION, Held

TOPIC = Topic("ad_events", "one", (0, 1, 2), "LogAppendTime")
NOBODY = KafkaAccess(Kafka("127.0.0.1:1", "PLAINTEXT"), KafkaUser.STREAM, Path("none"))
POSITION, LAST = {0: 3, 1: 0}, {0: LastRead(2, 300)}


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def witness(held: Held) -> Iterator[LogWitness]:
    made = LogWitness(VERSION, lambda: held)  # type: ignore[arg-type, return-value]
    yield made
    made.close()


def test_the_topic_it_was_staged_for_may_have_grown() -> None:
    log_identity.check(VERSION, TOPIC)


@pytest.mark.parametrize(("topic", "said"), [(Topic("ad_events", "two", (0, 1), "LogAppendTime"), "its id is two"),
                                             (Topic("ad_events", "one", (0,), "LogAppendTime"), "partitions"),
                                             ])  # fmt: skip
def test_another_topic_is_refused(topic: Topic, said: str) -> None:
    with pytest.raises(TopicReplaced, match=said):
        log_identity.check(VERSION, topic)


def test_a_topic_that_producers_stamp_is_refused() -> None:
    with pytest.raises(WrongTimestampType):
        log_identity.check(VERSION, Topic("ad_events", "one", (0, 1), "CreateTime"))


def test_a_broker_that_is_away_is_asked_again_until_the_start_is_not_wanted_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka_log, "LONGEST_MS", 500)
    slept: list[float] = []
    log_identity.check_once_there(NOBODY, VERSION, lambda: len(slept) < 2, slept.append)
    assert slept == [1.0, 1.0]


def opened(held: Held) -> Callable[..., object]:
    return lambda *_: nullcontext(held)


def nobody_asks(*_: object) -> Mock:
    return Mock(now_ms=lambda: 5)


def test_a_start_waits_for_a_topic_that_is_missing_for_a_moment(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_identity, "KafkaLog", opened(held))
    held.missing, slept = 2, list[float]()
    log_identity.check_once_there(NOBODY, VERSION, lambda: True, slept.append)
    assert slept == [1.0, 1.0]
    held.missing = 10
    monkeypatch.setattr(log_identity, "MISSING_SECONDS", 0.0)
    with pytest.raises(MissingTopic):
        log_identity.check_once_there(NOBODY, VERSION, lambda: True, slept.append)


@pytest.mark.parametrize("look", [lambda settings: query._skew_ms(settings, VERSION, {0: 4, 1: 0}),
                                  lambda settings: watcher.fresh_ends(settings, VERSION, 1, {}),
                                  ], ids=["skew", "ends"])  # fmt: skip
def test_who_looks_by_another_connection_waits_for_the_topic_as_long(
    held: Held, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, look: Callable[[Settings], object]
) -> None:
    for module in (query, watcher):
        monkeypatch.setattr(module, "KafkaLog", opened(held))
    monkeypatch.setattr(watcher, "DriverRegistry", nobody_asks)
    monkeypatch.setattr(log_identity, "MISSING_PAUSE_SECONDS", 0.0)
    held.missing = 2
    look(Settings(home=tmp_path))
    assert held.missing == 0
    held.missing = 1_000_000
    monkeypatch.setattr(log_identity, "MISSING_SECONDS", 0.0)
    with pytest.raises(MissingTopic):
        look(Settings(home=tmp_path))


def test_the_record_before_the_position_is_there_with_its_append_time(witness: LogWitness) -> None:
    """Also where the broker's clock went back: the last record is the older one."""
    witness.look(POSITION, LAST)
    witness.look({0: 4, 1: 0}, {0: LastRead(3, 280)})


def test_a_topic_that_is_missing_for_a_moment_is_no_topic_that_is_gone(
    held: Held, witness: LogWitness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that starts may not know it yet, and one that is made again is named when it is there."""
    held.missing = 1
    witness.look(POSITION, LAST)
    held.missing = 10
    monkeypatch.setattr(log_identity, "MISSING_SECONDS", 0.0)
    with pytest.raises(MissingTopic):
        witness.look(POSITION, LAST)


@pytest.mark.red_without("position", "DID NOT RAISE .*LogRewritten")
def test_another_record_at_an_offset_that_was_read_is_refused_by_name(held: Held, witness: LogWitness) -> None:
    held.times = {0: [100, 250, 301, 400], 1: []}
    with pytest.raises(LogRewritten, match=r"partition 0: .* offset 2 .* append_time 300, but offset 2 has 301 now"):
        witness.look(POSITION, LAST)


@pytest.mark.red_without("position", "DID NOT RAISE .*LogRewritten")
def test_a_log_that_ends_before_the_position_is_refused_though_no_record_was_kept(
    held: Held, witness: LogWitness
) -> None:
    with pytest.raises(LogRewritten, match="partition 0: it was read up to offset 5, but ends at 4 now"):
        witness.look({0: 5, 1: 0}, {})


def test_what_retention_removed_is_not_looked_for_as_long_as_the_position_is_there(
    held: Held, witness: LogWitness
) -> None:
    held.first, held.times = {0: 3, 1: 0}, {0: [1], 1: []}
    witness.look(POSITION, LAST)
    assert held.looked == []
    held.first = {0: 5, 1: 0}
    with pytest.raises(LogTooShort, match="partition 0: offsets 3 to 4 are gone"):
        witness.look(POSITION, LAST)


def test_what_retention_removes_while_it_is_looked_for_is_no_other_log(
    held: Held, witness: LogWitness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(partition: int, offset: int) -> Appended:
        held.first = {0: offset + 1, 1: 0}
        held.times = {0: held.times[0][offset + 1 :], 1: []}
        return Appended(held.times[0][0], 9, offset + 1)

    monkeypatch.setattr(held, "appended", too_late)
    witness.look(POSITION, LAST)


@pytest.mark.red_without("topic id", "DID NOT RAISE .*TopicReplaced")
def test_a_topic_made_again_is_refused_before_each_commit(held: Held, witness: LogWitness) -> None:
    witness.ask(POSITION, LAST).check()
    held.now = replace(held.now, topic_id="two")
    with pytest.raises(TopicReplaced, match="its id is two, not one"):
        witness.ask(POSITION, LAST).check()


def test_a_topic_made_again_while_its_records_are_looked_at_is_named_as_one(
    held: Held, witness: LogWitness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends() -> dict[int, int]:
        held.now = Identity("two", {0: 0, 1: 0})
        return {0: 0, 1: 0}

    monkeypatch.setattr(held, "ends", ends)
    with pytest.raises(TopicReplaced, match="its id is two"):
        witness.ask(POSITION, LAST).check()


def test_records_are_looked_at_again_only_where_the_broker_began_a_new_epoch(held: Held, witness: LogWitness) -> None:
    for _ in range(3):
        witness.ask(POSITION, LAST).check()
    assert held.looked == [2]
    held.now, held.times = Identity("one", {0: 8, 1: 8}), {0: [100, 250, 999], 1: []}
    with pytest.raises(LogRewritten):
        witness.ask(POSITION, LAST).check()


def test_all_that_is_named_of_a_partition_is_looked_at_and_each_record_once(held: Held, witness: LogWitness) -> None:
    witness.ask(POSITION, {0: LastRead(1, 250)}, LAST, LAST).check()
    assert held.looked == [1, 2]
    held.now, held.times = Identity("one", {0: 8, 1: 8}), {0: [100, 999, 300], 1: []}
    with pytest.raises(LogRewritten, match="the record at offset 1 was read with append_time 250"):
        witness.ask(POSITION, {0: LastRead(1, 250)}, LAST).check()


def test_without_an_answer_nothing_is_committed_until_there_is_one(
    held: Held, witness: LogWitness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_identity, "PATIENCE_SECONDS", 0.01)
    held.failures = 3
    answer = witness.ask(POSITION, LAST)
    with pytest.raises(LogSilent):
        answer.check()
    answer.wait(60)
    answer.check()
    assert held.closed == 3, "connected anew each time"


def test_clients_that_failed_once_ask_another_broker_and_for_all_that_was_known(
    held: Held, witness: LogWitness
) -> None:
    witness.ask(POSITION, LAST).check()
    for _ in range(2):  # which are not in a row
        held.failures, held.looked = 1, []
        witness.ask(POSITION, LAST).check()
        assert held.looked == [2]
    assert held.closed == 0
    held.failures = 2
    witness.ask(POSITION, LAST).check()
    assert held.closed == 1, "twice in a row"
