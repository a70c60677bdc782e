"""From a number to all that stands behind it, on fakes of both ports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from oracle.decode import LogRecord
from oracle.explain import Number, Part
from oracle.lineage import Batch, Lineage, NoSuchNumber, OtherLog, RecordsGone, stretch_of, trace
from oracle.postgres_lineage import split
from tests.oracle.fake_ports import FakeRegistry, FakeTopic
from tests.oracle.lineage_records import HOURS_2, MINUTE, MINUTES_5, NOON, NUMBER, RULES, part, record

SERVED = {"impressions": 1, "clicks": 1, "spend_micros": 12, "duplicates": 1, "repeated_clicks": 0, "ctr": Decimal(1)}
LOG = [
    record(0, event_id=9, at=NOON - HOURS_2, append=NOON - HOURS_2),
    record(1),
    record(2),
    record(3, "click", 3, cost=7),
    record(4, event_id=4, at=NOON + 3 * HOURS_2),
]
DAY = Number("client_spend", "c1", day=date(2023, 11, 15))


def batch(number: int, first: int, end: int) -> Batch:
    return Batch(1, number, 1, datetime(2023, 11, 15, tzinfo=UTC), {0: (first, end)})


class FakeLog(FakeTopic):
    """A log of one partition that keeps what was asked of it."""

    def __init__(self, log: Sequence[LogRecord], first: int = 0) -> None:
        super().__init__({0: log}, {0: first})
        self.read: list[tuple[int, int, int]] = []

    def stretch(self, starts: Mapping[int, int], ends: Mapping[int, int], until_ms: int) -> Iterator[LogRecord]:
        self.read.append((starts[0], ends[0], until_ms))
        return super().stretch(starts, ends, until_ms)


BATCHES = (batch(0, 0, 1), batch(1, 1, 3), batch(2, 3, 5))


def traced(
    served: Mapping[str, Any] | None = SERVED,
    parts: Sequence[Part] = (part(5),),
    log: Sequence[LogRecord] = LOG,
    batches: Sequence[Batch] = BATCHES,
    number: Number = NUMBER,
    first: int = 0,
) -> Lineage:
    return trace(FakeRegistry(served, parts, batches), lambda _: FakeLog(log, first), number)


def test_a_number_that_the_log_adds_up_to_is_explained() -> None:
    found = traced()
    assert found.differences == ()
    assert [(each.offset, each.fate) for each in found.records] == [(1, "counted"), (2, "duplicate"), (3, "counted")]
    assert {fate: (t.records, t.micros) for fate, t in found.fates.items()} == {"duplicate": (1, 5), "counted": (2, 12)}


def test_the_batches_are_those_that_read_its_records() -> None:
    registry = FakeRegistry(SERVED, [part(5)], BATCHES)
    found = trace(registry, lambda _: FakeLog(LOG), NUMBER)
    assert [each.batch_id for each in found.origins[0].batches] == [1, 2]
    assert registry.asked == [(1, {0: (1, 3)})]


@pytest.mark.parametrize("batches", [BATCHES[:2], (*BATCHES, batch(3, 3, 4))])
def test_a_record_that_is_not_in_exactly_one_batch_is_a_difference(batches: Sequence[Batch]) -> None:
    found = traced(batches=batches).differences
    assert [(each.view, each.key) for each in found] == [("ops.batches", "version 1, partition 0, offset 3")]


def test_one_micro_is_a_difference() -> None:
    found = traced(served={**SERVED, "spend_micros": 13}).differences
    assert [(each.column, each.expected, each.served) for each in found] == [("spend_micros", 12, 13)]


def test_only_its_stretch_of_the_log_is_read() -> None:
    log = FakeLog(LOG)
    trace(FakeRegistry(SERVED, [part(5)], BATCHES), lambda _: log, NUMBER)
    assert log.read == [(1, 5, NOON + 2 * MINUTE + HOURS_2)]


def test_only_what_the_version_had_committed_is_compared() -> None:
    served = {**SERVED, "impressions": 1, "clicks": 0, "spend_micros": 5, "duplicates": 0, "ctr": Decimal(0)}
    assert traced(served, [part(2)]).differences == ()


def test_a_day_of_two_versions_is_the_sum_of_what_each_serves_of_it() -> None:
    """The second version has another rule and began later; each part is judged by its own."""
    log = [record(0), record(1), record(2, event_id=2, at=NOON + MINUTE), record(3, event_id=2, at=NOON + MINUTE)]
    counts_all = replace(RULES, click_interval_ms=None)
    parts = [part(4), part(4, counts_all, 2, 1, NOON + MINUTE)]
    day = {"impressions": 3, "clicks": 0, "spend_micros": 15}
    found = traced(day, parts, log, number=DAY)
    assert found.differences == ()
    assert [(each.version, each.offset) for each in found.records] == [(1, 0), (1, 1), (2, 2), (2, 3)]
    assert [origin.examined.row is not None for origin in found.origins] == [True, True]


def test_what_no_version_serves_is_refused() -> None:
    with pytest.raises(NoSuchNumber, match="no version serves that time"):
        traced(parts=[])


def test_a_key_that_nothing_is_known_of_is_refused() -> None:
    with pytest.raises(NoSuchNumber, match="client c9, ad a1"):
        traced(None, number=replace(NUMBER, client_id="c9"))


def test_a_number_of_refused_records_only_is_explained_by_them() -> None:
    found = traced(None, log=[record(0, append=NOON + HOURS_2 + 1)], parts=[part(1)], batches=[batch(0, 0, 1)])
    assert (found.differences, [each.fate for each in found.records]) == ((), ["late"])


def test_a_row_without_records_is_a_difference() -> None:
    assert [each.column for each in traced(log=[], parts=[part(0)]).differences] == ["(row)"]


def test_a_log_that_may_have_lost_records_of_the_number_is_refused() -> None:
    with pytest.raises(RecordsGone, match="begins at 2"):
        traced(first=2)


def test_a_log_that_lost_older_records_only_will_do() -> None:
    older = [record(0, append=NOON - HOURS_2), record(1, append=NOON - MINUTES_5 - 1), record(2, "click", 3, cost=5)]
    served = {**SERVED, "impressions": 0, "spend_micros": 5, "duplicates": 0, "ctr": None}
    assert traced(served, [part(3)], older, [batch(0, 0, 3)], first=1).differences == ()


def test_a_version_that_began_where_the_log_begins_lost_nothing() -> None:
    starts, _ = stretch_of(NUMBER, part(5, start=2), {0: (2, 5)}, {0: 2})
    assert starts == {0: 2}


def test_a_topic_that_was_made_anew_is_refused() -> None:
    with pytest.raises(OtherLog, match="ends at 5"):
        traced(parts=[part(6)])


def test_a_partition_that_the_version_does_not_read_is_not_read() -> None:
    assert stretch_of(NUMBER, part(5), {0: (0, 9), 1: (0, 9)}, {0: 3, 1: 3}) == ({0: 3}, {0: 5})


def test_each_segment_has_its_share_of_the_minutes() -> None:
    segments: list[dict[str, Any]] = [
        {"version": 1, "from_ms": None, "to_ms": NOON},
        {"version": 2, "from_ms": NOON, "to_ms": NOON + MINUTE},
        {"version": 3, "from_ms": NOON + MINUTE, "to_ms": None},
    ]
    minutes = {NOON - MINUTE, NOON, NOON + 9 * MINUTE}
    assert split(minutes, segments) == [(v, frozenset({m})) for v, m in zip((1, 2, 3), sorted(minutes), strict=True)]
    assert split({NOON}, segments) == [(2, frozenset({NOON}))]
    assert split({NOON}, segments[:1]) == []
