"""The watermark's delay and guard: what must hold so that no record that the contract accepts is dropped."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pytest

from jobs import query
from jobs.driver.watermark import (
    Ends,
    Reach,
    ReachUnknown,
    WatermarkTooFast,
    base_delay_ms,
    check_watermark,
    drained,
    read_skew_ms,
    widest_span_ms,
)
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import find, resolve
from kappa.core.log.kafka_log import Log
from tests.jobs.held_log import VERSION

HOUR = 3_600_000
LATENESS = 2 * HOUR
SETTINGS = resolve(find("ad_ctr"), {})


@dataclass
class Uneven:
    """A log of 360 records in each of two partitions: of six hours in the first, of the last half hour in the other."""

    times = {0: [n * 60_000 for n in range(360)], 1: [330 * 60_000 + n * 5_000 for n in range(360)]}

    def ends(self) -> dict[int, int]:
        return dict.fromkeys(self.times, 360)

    def append_time(self, partition: int, offset: int) -> int | None:
        return self.times[partition][offset]

    def offsets_at(self, at_ms: int) -> dict[int, int]:
        return {p: sum(time < at_ms for time in times) for p, times in self.times.items()}


def _samples(of_partition: dict[int, list[tuple[int, int]]], times: list[int]) -> list[tuple[int, dict[int, int]]]:
    """(time, first offset appended at or after it) of partitions given as (append time, offset) lists."""
    return [
        (at, {p: min((o for t, o in log if t >= at), default=len(log)) for p, log in of_partition.items()})
        for at in times
    ]


def test_partitions_that_advance_together_have_little_skew() -> None:
    log = [(t * 1000, t) for t in range(100)]
    spans = widest_span_ms({0: (0, 100), 1: (0, 100)}, _samples({0: log, 1: log}, list(range(0, 101_000, 5_000))))
    assert spans <= 10_000


def test_the_skew_of_an_uneven_backlog_covers_what_one_batch_may_straddle() -> None:
    """One partition with six hours of append times, one with the last half hour (F35): read in proportion, they are
    5.5 hours apart at the start."""
    long = [(n * 60_000, n) for n in range(360)]
    short = [(330 * 60_000 + n * 5_000, n) for n in range(360)]
    times = list(range(0, 6 * HOUR + 600_000, 600_000))
    span = widest_span_ms({0: (0, 360), 1: (0, 360)}, _samples({0: long, 1: short}, times))
    assert 5.5 * HOUR <= span <= 6 * HOUR


@pytest.mark.red_without("skew", "assert 0 >= ")
def test_the_watermark_of_a_query_waits_for_as_long_as_the_partitions_are_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(query, "KafkaLog", lambda *_: nullcontext(Uneven()))
    version = replace(VERSION, settings=SETTINGS, start_offsets={0: 0, 1: 0})
    run = query.run_of(Settings(tmp_path), version, {0: 0, 1: 0})
    skew_ms = run.watermark_delay_ms - base_delay_ms(SETTINGS)
    assert skew_ms >= 5 * HOUR


def skew_ms(log: Uneven, start: dict[int, int]) -> int:
    """The skew of a log that answers what is asked of it for that."""
    return read_skew_ms(cast("Log", log), start)


def test_a_partition_that_the_log_has_no_more_does_not_end_the_start_by_a_riddle() -> None:
    """A topic made again with fewer partitions: that it is another one is for the witness to say, in words."""
    there = skew_ms(Uneven(), {0: 0, 1: 0})
    assert skew_ms(Uneven(), {0: 0, 1: 0, 2: 7}) == there
    assert skew_ms(Uneven(), {2: 0}) == 0


class MadeAgain(Uneven):
    """It loses its second partition once its ends were asked for."""

    def offsets_at(self, at_ms: int) -> dict[int, int]:
        return {0: super().offsets_at(at_ms)[0]}

    def append_time(self, partition: int, offset: int) -> int | None:
        return None if partition else super().append_time(partition, offset)


def test_nor_one_that_is_gone_while_the_log_is_asked() -> None:
    assert skew_ms(MadeAgain(), {0: 0, 1: 0}) >= 0


def test_a_partition_counts_as_read_up_to_the_time_at_which_its_end_was_reached() -> None:
    reach = Reach({0: 5}).after({0: 10, 1: 7}, {0: 50}, Ends(at_ms=900, offsets={0: 11, 1: 7}))
    assert reach.read_through_ms == {0: 50, 1: 900}


def test_the_reach_never_goes_back() -> None:
    assert Reach({0: 100}).after({0: 1}, {0: 50}, None).read_through_ms == {0: 100}


def test_a_partition_of_unknown_reach_makes_the_whole_unknown() -> None:
    assert Reach({0: 100}).least_ms([0, 1]) is None
    assert Reach({0: 100, 1: 50}).least_ms([0, 1]) == 50


def test_a_partition_is_drained_only_when_its_whole_end_was_read() -> None:
    ends = Ends(at_ms=1, offsets={0: 10, 1: 10})
    assert drained({0: 10, 1: 9}, ends) == [0]
    assert drained({0: 10}, None) == []


def test_a_watermark_that_could_pass_an_unread_record_is_refused_with_the_shortfall() -> None:
    """Partition 0 is read to 10 h, partition 1 only to 4 h: with a delay of 2 h the watermark would stand at 8 h."""
    reach = Reach({0: 10 * HOUR, 1: 4 * HOUR})
    with pytest.raises(WatermarkTooFast) as refused:
        check_watermark(0, 10 * HOUR, 2 * HOUR, reach, [0, 1], LATENESS)
    assert refused.value.shortfall_ms == 6 * HOUR


def test_a_watermark_just_behind_every_acceptable_record_passes() -> None:
    reach = Reach({0: 10 * HOUR, 1: 4 * HOUR})
    check_watermark(0, 10 * HOUR, 8 * HOUR + 1, reach, [0, 1], LATENESS)


def test_a_watermark_in_force_that_is_too_new_is_refused_even_for_an_empty_batch() -> None:
    with pytest.raises(WatermarkTooFast):
        check_watermark(3 * HOUR, None, 0, Reach({0: 4 * HOUR}), [0], LATENESS)


def test_a_batch_waits_where_nobody_knows_from_when_on_a_partition_is_unread() -> None:
    """What the log says of the partition's first unread record makes it known; then the batch is judged by that."""
    read = Reach({0: 10 * HOUR})
    newest_ms = 10 * HOUR
    with pytest.raises(ReachUnknown, match=r"on the partitions \[1\] are unread"):
        check_watermark(0, newest_ms, base_delay_ms(SETTINGS), read, [0, 1], LATENESS)
    told = read.after({}, {}, Ends(10 * HOUR, {0: 5, 1: 5}, unread_from_ms={1: 10 * HOUR}))
    check_watermark(0, newest_ms, base_delay_ms(SETTINGS), told, [0, 1], LATENESS)
    earlier = read.after({}, {}, Ends(10 * HOUR, {0: 5, 1: 5}, unread_from_ms={1: HOUR}))
    with pytest.raises(WatermarkTooFast):
        check_watermark(0, newest_ms, base_delay_ms(SETTINGS), earlier, [0, 1], LATENESS)
