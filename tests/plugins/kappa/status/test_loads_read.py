"""What versions had to do lately, as the registry of a rig tells it: rates, gaps, the busiest minute, what waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from kappa.core.advice.load import Load
from kappa.core.fates import Fate
from kappa.core.job_catalog import JOBS, resolve
from kappa.status import load
from tests.rigs.rig import Rig
from tests.rigs.served_by_hand import FIRST, ByHand, by_hand

pytestmark = pytest.mark.rig
SETTINGS = resolve(JOBS["ad_ctr"], {"cadence_ms": 2_000})
ZEROES = ", ".join(
    [f"{fate.value}_micros" for fate in Fate if fate is not Fate.DEAD_LETTER]
    + [fate.value for fate in Fate if fate is not Fate.COUNTED]
)


@pytest.fixture(scope="module")
def hand(cases: Rig) -> Iterator[ByHand]:
    with by_hand(cases.case("ad_ctr", "quarantine").settings) as hand:
        hand.stage("ad_ctr", FIRST, {k: v for k, v in SETTINGS.items() if k != "executors"})
        hand.stage("ad_ctr", FIRST + 1, SETTINGS)
        hand.serve("ad_ctr", ("-infinity", "2026-01-01", FIRST + 1), ("2026-01-01", "infinity", FIRST))
        hand.execute(
            "update registry.job_version set updated_at = clock_timestamp() - interval '4 hours' where job = 'ad_ctr'"
        )
        yield hand


@pytest.fixture(autouse=True)
def _nothing_done_yet(hand: ByHand) -> None:
    hand.execute("delete from registry.batch; delete from registry.heartbeat")
    hand.execute("update registry.progress set next_offset = 0, end_offset = 0 where job = 'ad_ctr'")


def batch(hand: ByHand, number: int, age: float, read: int, version: int = FIRST) -> None:
    """A batch that was committed so many seconds ago."""
    hand.execute(
        "insert into registry.batch (job, version, generation, batch_id, epoch, topic_id, start_offsets, end_offsets, "
        f"read, counted, rows_changed, committed_at, {ZEROES}) values ('ad_ctr', %s, 1, %s, 1, 'id', '{{}}', '{{}}', "
        f"%s, %s, 1, clock_timestamp() - %s * interval '1 second', {', '.join('0' for _ in ZEROES.split(', '))})",
        version, number, read, read, age,
    )  # fmt: skip


def told(hand: ByHand) -> Load:
    options: Any = {"autocommit": True, "row_factory": dict_row}
    with psycopg.connect(hand.settings.dsn("kappa_operator"), **options) as connection:
        [found] = load.read(connection)
    return found


def test_before_the_first_batch_nothing_is_known_but_the_settings(hand: ByHand) -> None:
    found = told(hand)
    assert (found.name, found.state, found.desired) == (f"ad_ctr v{FIRST}", "LIVE", "running")
    assert (found.batch_ms, found.gap_ms, found.beat_seconds) == (None, None, None)
    assert (found.reads_per_second, found.peak_per_second) == (0.0, 0.0)
    assert found.settings == SETTINGS, "a setting that the version does not have is as by default"
    assert 14_400 <= found.unchanged_seconds < 14_500


def test_rates_gaps_and_the_busiest_minute(hand: ByHand) -> None:
    hand.execute(
        "insert into registry.heartbeat (job, version, epoch, beat_at, driver_pid, submission_id, generation, "
        "batch_id, batch_ms, committed_at, state_rows, state_bytes) values ('ad_ctr', %s, 1, clock_timestamp(), 7, "
        "'driver-1', 1, 3, 400, clock_timestamp(), 12, 4096)", FIRST,
    )  # fmt: skip
    for number in range(11):
        batch(hand, number, age=8 * number + 1, read=600)
    batch(hand, 20, age=601, read=5_000)
    batch(hand, 21, age=10_700, read=90_000)
    batch(hand, 22, age=10_900, read=900_000)
    batch(hand, 1, age=2, read=77_000, version=FIRST + 1)
    found = told(hand)
    assert found.reads_per_second == pytest.approx(11 * 600 / 600)
    assert found.gap_ms == pytest.approx(8_000, abs=50)
    assert found.peak_per_second == 1_500.0, "of the last three hours, and of this version alone"
    assert (found.batch_ms, found.state_rows, found.state_bytes) == (400, 12, 4_096)
    assert found.beat_seconds is not None
    assert 0 <= found.beat_seconds < 30


def test_one_quick_batch_in_ten_does_not_hide_that_the_others_take_long(hand: ByHand) -> None:
    for number in range(30, 50):
        batch(hand, number, age=100 + 20 * (number - 30), read=1)
    batch(hand, 50, age=479.9, read=1)
    assert told(hand).gap_ms == pytest.approx(20_000, abs=500), "a mean would be 19,000"


def test_that_its_batches_fail_is_told_by_its_red_lines(hand: ByHand) -> None:
    assert told(hand).failing == ""
    for version, what in ((FIRST, "watcher"), (FIRST, "query"), (FIRST, "commit"), (FIRST + 1, "topic")):
        hand.execute("insert into registry.red_line values ('ad_ctr', %s, %s, clock_timestamp(), 'why')", version, what)
    found = told(hand).failing
    hand.execute("delete from registry.red_line")
    assert found == "commit, query"


def test_what_waits_is_told_as_the_views_tell_it(hand: ByHand) -> None:
    hand.execute(
        "update registry.progress set next_offset = 10, end_offset = 510, read_append_time = clock_timestamp() - "
        "interval '100 seconds' where job = 'ad_ctr' and version = %s", FIRST,
    )  # fmt: skip
    found = told(hand)
    assert found.lag_events == 500
    assert found.lag_seconds == pytest.approx(100, abs=20)
    assert found.arriving_per_second == pytest.approx(5, abs=1)
