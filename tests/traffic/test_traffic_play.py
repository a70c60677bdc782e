"""Playing: the open loop, the summary, and the contract of the log port."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from traffic.log import Delivery, KafkaLog, Log, LogUnreachable, TopicMissing
from traffic.play import at_rate, play
from traffic.records import Kind, Record

MOCK = {"test.mock.num.brokers": 1}


class FakeClock:
    def __init__(self) -> None:
        self.at = 100.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.at += seconds


class FakeLog:
    """Keeps what it gets; each send takes `takes` seconds on the clock."""

    def __init__(self, clock: FakeClock | None = None, takes: float = 0.0) -> None:
        self.sent: list[tuple[float, bytes | None, bytes | None]] = []
        self._clock, self._takes = clock or FakeClock(), takes

    def send(self, key: bytes | None, value: bytes | None) -> None:
        self.sent.append((self._clock.at, key, value))
        self._clock.at += self._takes

    def close(self) -> Delivery:
        return Delivery(len(self.sent), 0)


def _records(*dues: float) -> list[Record]:
    return [Record(b"k", b"v", due, Kind.IMPRESSION) for due in dues]


def test_paced_records_go_at_their_due_times() -> None:
    clock = FakeClock()
    log = FakeLog(clock)
    play(_records(0, 0.5, 2), log, clock, paced=True)
    assert [at for at, _, _ in log.sent] == [100, 100.5, 102]


def test_a_slow_log_delays_no_later_record() -> None:
    clock = FakeClock()
    log = FakeLog(clock, takes=1.0)
    played = play(_records(0, 0.5, 0.6, 10), log, clock, paced=True)
    assert [at for at, _, _ in log.sent] == [100, 101, 102, 110]
    assert played.behind_s == pytest.approx(1.4)


def test_at_full_speed_nothing_waits() -> None:
    clock = FakeClock()
    play(_records(0, 5, 50), FakeLog(clock), clock, paced=False)
    assert clock.slept == []


def test_a_slow_source_does_not_put_the_play_behind() -> None:
    clock = FakeClock()

    def slow() -> object:
        clock.at += 3
        yield from _records(0, 1)

    assert play(slow(), FakeLog(clock), clock, paced=True).behind_s == 0  # type: ignore[arg-type]


def test_a_rate_spaces_records_evenly() -> None:
    assert [record.due for record in at_rate(_records(7, 7, 7), 2.0)] == [0, 0.5, 1.0]


def test_the_summary_counts_kinds_and_tells_progress() -> None:
    told: list[int] = []
    records = [Record(b"k", b"v", 0, kind) for kind in (Kind.CLICK, Kind.LATE, Kind.CLICK)]
    played = play(records, FakeLog(), FakeClock(), paced=False, tell=told.append)
    assert (played.records, played.delivered, played.kinds) == (3, 3, {"click": 2, "late": 1})
    assert told[-1] == 3


@pytest.fixture(params=["fake", "kafka"])
def new_log(request: pytest.FixtureRequest) -> Callable[[], Log]:
    return FakeLog if request.param == "fake" else lambda: KafkaLog({"bootstrap.servers": "mock"}, "ad_events", MOCK)


def test_every_record_handed_over_is_delivered_by_the_close(new_log: Callable[[], Log]) -> None:
    log = new_log()
    for number in range(2_500):
        log.send(b"user", str(number).encode())
    assert log.close() == Delivery(2_500, 0, None)


def test_null_keys_and_values_are_records_too(new_log: Callable[[], Log]) -> None:
    log = new_log()
    log.send(None, b"v")
    log.send(b"k", None)
    assert log.close().delivered == 2


def test_what_is_not_delivered_is_counted_and_named() -> None:
    log = KafkaLog({"bootstrap.servers": "mock"}, "ad_events", {**MOCK, "message.max.bytes": 2_000})
    log.send(b"k", b"x" * 5_000)
    log.send(b"k", b"small")
    delivery = log.close()
    assert (delivery.delivered, delivery.failed) == (1, 1)
    assert "size" in str(delivery.first_error)


def test_an_absent_broker_is_refused_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traffic.log._TIMEOUT_S", 0.3)
    with pytest.raises(LogUnreachable, match=r"127\.0\.0\.1:1"):
        KafkaLog({"bootstrap.servers": "127.0.0.1:1"}, "ad_events")


def test_an_absent_topic_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(TopicMissing, match="no topic 'ad_events'"):
        KafkaLog({"bootstrap.servers": "mock"}, "ad_events", {**MOCK, "allow.auto.create.topics": False})
