"""What the demo plays: laid where it still counts and becomes final soon, ended with the demo, told if it failed."""

from __future__ import annotations

import json
import threading
from collections import defaultdict

import pytest

from examples.demo.play import MARGIN_MS, MINUTE_MS, NotPlayed, gentle, lay, log_laid, playing
from traffic.log import Delivery
from traffic.open_bandit import CAMPAIGNS
from traffic.records import Kind, Record
from traffic.sources import Plan

NOW, LATENESS_MS = 1_700_000_012_345, 7_200_000
MOMENTS = range(NOW, NOW + MINUTE_MS, 997)


class FakeLog:
    """A log that keeps what it gets, and says how many records it lost."""

    def __init__(self, failed: int = 0) -> None:
        self.values: list[bytes | None] = []
        self.failed, self.twice = failed, threading.Event()

    def send(self, key: bytes | None, value: bytes | None) -> None:
        self.values.append(value)
        if len(self.values) > 1:
            self.twice.set()

    def close(self) -> Delivery:
        return Delivery(len(self.values) - self.failed, self.failed, "broker away" if self.failed else None)


@pytest.mark.parametrize("lasts_seconds", [121.994, 120.0, 59.0])
def test_no_event_is_late_unless_the_stack_stands_still_for_the_margin(lasts_seconds: float) -> None:
    for now_ms in MOMENTS:
        inside = LATENESS_MS - (now_ms - lay(now_ms, LATENESS_MS, lasts_seconds).start_ms)
        assert MARGIN_MS <= inside < MARGIN_MS + MINUTE_MS


def test_the_play_ends_with_a_full_minute_that_is_final_as_the_contract_says() -> None:
    for now_ms in MOMENTS:
        laid = lay(now_ms, LATENESS_MS, 121.994)
        assert laid.end_ms % MINUTE_MS == 0
        assert laid.end_ms - 2_000 < laid.start_ms + 121_994 < laid.end_ms
        assert laid.final_ms == laid.end_ms + LATENESS_MS + 60_000
        assert laid.first_window_ms <= laid.start_ms < laid.first_window_ms + MINUTE_MS


def test_the_log_is_final_within_five_minutes_of_its_play() -> None:
    assert all(lay(now_ms, LATENESS_MS, 121.994).final_ms - now_ms < 305_000 for now_ms in MOMENTS)


def test_every_event_of_the_log_lies_where_it_is_laid() -> None:
    laid, plan = log_laid(NOW, LATENESS_MS)
    times = [json.loads(record.value or b"")["event_time"] for record in plan.records]
    assert (min(times), plan.paced) == (laid.start_ms, True)
    assert max(times) < laid.end_ms


def test_the_traffic_beside_has_clicks_that_a_wider_interval_drops_and_no_client_of_the_log() -> None:
    clicks: dict[int, set[tuple[str, str, int]]] = defaultdict(set)
    start_ms = lay(NOW, LATENESS_MS, 122).start_ms
    for record, _ in zip(gentle(start_ms, seed=1).records, range(6_000), strict=False):
        event = json.loads(record.value or b"")
        assert event["client_id"] not in CAMPAIGNS
        assert start_ms + 1000 * record.due - LATENESS_MS + MARGIN_MS < event["event_time"]
        if event["event_type"] == "click":
            for interval in (10_000, 30_000):
                clicks[interval].add((event["ad_id"], event["user_id"], event["event_time"] // interval))
    assert len(clicks[10_000]) - len(clicks[30_000]) >= 20


def _endless() -> Plan:
    return Plan(iter(lambda: Record(b"u", b"v", 0.0, Kind.CLICK), None), None, paced=False)


def test_a_source_is_ended_with_what_it_is_played_beside() -> None:
    log = FakeLog()
    with playing("it", _endless(), lambda: log) as source:
        assert log.twice.wait(10)
        assert not source.ended
    assert source.ended
    assert source.result().records == len(log.values)


def test_a_source_is_ended_by_a_failure_beside_it_and_the_failure_goes_on_up() -> None:
    with pytest.raises(KeyError), playing("it", _endless(), FakeLog) as source:
        raise KeyError
    assert source.ended


def test_records_that_were_not_delivered_are_no_play() -> None:
    plan = Plan([Record(b"u", b"v", 0.0, Kind.CLICK)], 1, paced=False)
    with pytest.raises(NotPlayed, match=r"1 records of the log were not delivered \(the first: broker away\)"):  # noqa: SIM117
        with playing("the log", plan, lambda: FakeLog(failed=1)):
            pass
