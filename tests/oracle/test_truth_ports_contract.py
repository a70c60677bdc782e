"""What the oracle's ports promise, asked of their fakes and of the real Kafka and Postgres alike."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain

import pytest
from kafka import KafkaAdminClient
from kafka.structs import TopicPartition

from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from oracle.decode import LogRecord
from oracle.postgres import DatabaseUnreadable, PostgresDatabase
from oracle.served import Database
from oracle.topic import KafkaTopic, LogUnreadable
from tests.oracle.fake_ports import FakeDatabase, FakeTopic
from tests.oracle.served_for_real import Real, served_for_real
from tests.rigs.events import Sent, events
from tests.rigs.rig import Rig

SENT: dict[int, list[Sent]] = {0: [*events(5, partition=0), Sent(None, None, 0)], 1: events(2, 10, partition=1), 2: []}
APART_SECONDS = 0.003
REAL = [pytest.param("real", marks=pytest.mark.rig)]


@dataclass
class Log:
    """A topic on trial that holds SENT, and the hand of retention."""

    topic: FakeTopic | KafkaTopic
    settings: Settings | None = None

    def remove_before(self, partition: int, offset: int) -> None:
        if self.settings is None:
            assert isinstance(self.topic, FakeTopic)
            self.topic = FakeTopic(self.topic.logs, {**self.topic.firsts, partition: offset})
            return
        client = KafkaAdminClient(**self.settings.kafka_access(KafkaUser.ADMIN).kafka_python())
        client.delete_records({TopicPartition(self.settings.topic.name, partition): offset})
        client.close()

    def read(self, ends: Mapping[int, int]) -> dict[int, list[int]]:
        """The offsets that come, by partition."""
        found: dict[int, list[int]] = {}
        for record in self.topic.records(ends):
            found.setdefault(record.partition, []).append(record.offset)
        return found

    def times(self) -> dict[int, dict[int, int]]:
        """When what is there was appended, by offset, by partition."""
        found: dict[int, dict[int, int]] = {}
        for record in self.topic.records({partition: end for partition, (_, end) in self.topic.bounds().items()}):
            found.setdefault(record.partition, {})[record.offset] = record.append_time
        return found


@pytest.fixture(params=["fake", *REAL])
def log(request: pytest.FixtureRequest) -> Log:
    if request.param == "fake":
        held = {p: [LogRecord(p, at, 1_000 + at, True, sent.key, sent.value) for at, sent in enumerate(records)]
                for p, records in SENT.items()}  # fmt: skip
        return Log(FakeTopic(held, {}))
    rig: Rig = request.getfixturevalue("cases")
    case = rig.case(partitions=3)
    for sent in chain.from_iterable(SENT.values()):
        case.produce([sent])
        time.sleep(APART_SECONDS)
    return Log(
        KafkaTopic(case.settings.kafka_access(KafkaUser.READER).librdkafka(), case.settings.topic.name), case.settings
    )


def test_bounds_are_the_first_offset_and_the_one_after_the_last(log: Log) -> None:
    assert log.topic.bounds() == {0: (0, 6), 1: (0, 2), 2: (0, 0)}


def test_records_come_whole_once_and_in_the_order_of_their_partition(log: Log) -> None:
    found = list(log.topic.records({0: 6, 1: 2, 2: 0}))
    for partition, sent in SENT.items():
        mine = [record for record in found if record.partition == partition]
        assert [(record.offset, record.key, record.value) for record in mine] == [
            (offset, each.key, each.value) for offset, each in enumerate(sent)
        ]
        assert all(record.stamped and record.append_time > 0 for record in mine)
        assert [record.append_time for record in mine] == sorted(record.append_time for record in mine)


def test_nothing_is_read_from_an_end_on(log: Log) -> None:
    assert log.read({0: 2, 1: 0}) == {0: [0, 1]}
    assert log.read({}) == {}


def test_what_retention_removed_is_not_there_and_no_error(log: Log) -> None:
    log.remove_before(0, 4)
    log.remove_before(1, 2)
    assert log.topic.bounds() == {0: (4, 6), 1: (2, 2), 2: (0, 0)}
    assert log.read({0: 6, 1: 2, 2: 0}) == {0: [4, 5]}


def test_a_part_begins_with_what_was_appended_at_a_time_or_later(log: Log) -> None:
    log.remove_before(0, 2)
    held, ends = log.times(), {0: 6, 1: 2, 2: 0}
    assert len({at for times in held.values() for at in times.values()}) > 2, "no two records were appended apart"
    for asked in {at + more for times in held.values() for at in times.values() for more in (-1, 0, 1)}:
        first = {
            p: min((o for o, at in held.get(p, {}).items() if at >= asked), default=end) for p, end in ends.items()
        }
        assert log.topic.since(asked) == first


def test_a_part_ends_before_what_was_appended_at_a_time_or_later(log: Log) -> None:
    held, starts, ends = log.times(), {0: 1, 1: 0, 2: 0}, {0: 5, 1: 2, 2: 0}
    for until in {at + more for times in held.values() for at in times.values() for more in (0, 1)}:
        found = [(record.partition, record.offset) for record in log.topic.stretch(starts, ends, until)]
        wanted = [
            (p, o) for p, times in held.items() for o, at in times.items() if starts[p] <= o < ends[p] and at < until
        ]
        assert sorted(found) == sorted(wanted)


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest) -> Real:
    return served_for_real(request.getfixturevalue("cases").case("ad_ctr", "client_spend", "quarantine"))


@pytest.fixture(params=["fake", *REAL])
def database(request: pytest.FixtureRequest) -> Database:
    """What three jobs serve, two versions of one of them among it."""
    real: Real = request.getfixturevalue("real")
    if request.param == "fake":
        return FakeDatabase(real.expected())
    return PostgresDatabase(real.case.settings.dsn("kappa_operator"))


@pytest.mark.rig
def test_a_snapshot_is_all_that_is_served_and_by_whom(database: Database, real: Real) -> None:
    found = database.snapshot(None)
    for mine, wanted in zip(found.jobs, real.expected().jobs, strict=True):
        assert mine == wanted, mine.job
    assert replace(found, at_ms=0) == real.expected()


@pytest.mark.rig
def test_a_snapshot_is_of_the_jobs_that_were_asked_for(database: Database) -> None:
    assert [served.job for served in database.snapshot(frozenset({"quarantine", "ad_ctr"})).jobs] == [
        "ad_ctr",
        "quarantine",
    ]
    assert database.snapshot(frozenset({"slot_ctr"})).jobs == ()


@pytest.mark.rig
def test_progress_is_that_of_the_live_versions(database: Database) -> None:
    assert database.progress() == {job: {0: 7, 1: 2} for job in ("ad_ctr", "client_spend", "quarantine")}


@pytest.mark.rig
def test_the_time_of_a_snapshot_is_not_before_anything_in_it(real: Real) -> None:
    """Else a partition could seem to have been read to its end in the future."""
    query = real.case.query
    query("update registry.progress set drained_at = clock_timestamp() where job = 'quarantine'")
    found = PostgresDatabase(real.case.settings.dsn("kappa_operator")).snapshot(frozenset({"quarantine"}))
    query("update registry.progress set drained_at = null")
    drained = found.jobs[0].live.told[0].drained_ms
    assert drained is not None
    assert drained <= found.at_ms <= drained + 600_000


def test_what_does_not_answer_is_a_refusal_that_says_where_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = "host=127.0.0.1 port=1 dbname=kappa user=kappa_operator"
    with pytest.raises(DatabaseUnreadable, match="kappa status"):
        PostgresDatabase(nowhere).progress()
    monkeypatch.setattr("oracle.topic._TIMEOUT_S", 0.2)
    with pytest.raises(LogUnreadable, match="kappa status"):
        KafkaTopic({"bootstrap.servers": "127.0.0.1:1"}, "ads", {"log_level": 0}).bounds()
