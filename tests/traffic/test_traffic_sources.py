"""From options to a plan."""

from __future__ import annotations

import json

import pytest

from traffic.shape import Shape
from traffic.sources import BadDuration, SpanTooLong, plan_open_bandit, plan_synthetic, seconds_of

NOW = 1_700_000_000_000


def _times(plan: object) -> list[int]:
    return [json.loads(record.value)["event_time"] for record in plan.records]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("110m", 6_600), ("1.5h", 5_400)])
def test_spans_are_read(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "90", "m", "1d", "-5m"])
def test_other_spans_are_refused(text: str) -> None:
    with pytest.raises(BadDuration):
        seconds_of(text)


def test_the_open_bandit_log_starts_now_when_played_and_ends_now_at_full_speed() -> None:
    live, at_once = (_times(plan_open_bandit(NOW, 5_040, None, full)) for full in (False, True))
    assert min(live) == NOW
    assert NOW - 1_000 <= max(at_once) <= NOW


def test_a_rate_sets_the_compression_of_the_open_bandit_log() -> None:
    records = list(plan_open_bandit(NOW, 1, 1_000.0, False).records)
    assert len(records) / records[-1].due == pytest.approx(1_000, rel=0.05)


def test_the_open_bandit_log_may_not_be_late_at_full_speed() -> None:
    with pytest.raises(SpanTooLong, match="--compress 60"):
        plan_open_bandit(NOW, 60, None, True)


def test_synthetic_traffic_covers_the_last_span() -> None:
    times = _times(plan_synthetic(NOW, Shape(1, 1_000), 6_600, None))
    assert NOW - 6_600_000 <= min(times) < NOW - 6_500_000
    assert NOW - 100_000 < max(times) <= NOW


def test_live_synthetic_traffic_happens_when_it_is_due() -> None:
    plan = plan_synthetic(NOW, Shape(1, 100), 6_600, 50.0)
    dues = [record.due for record in plan_synthetic(NOW, Shape(1, 100), 6_600, 50.0).records]
    assert plan.paced
    assert _times(plan) == [NOW + round(due * 1000) for due in dues]


def test_a_span_beyond_the_lateness_is_refused() -> None:
    with pytest.raises(SpanTooLong, match="--span"):
        plan_synthetic(NOW, Shape(1, 10), 7_200, None)
