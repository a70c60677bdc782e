"""The records that arrive while a candidate catches up, told by what the version that serves has read lately."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from kappa.status import replays
from tests.plugins.kappa.status.test_loads_read import batch
from tests.rigs.rig import Rig
from tests.rigs.served_by_hand import FIRST, ByHand, by_hand

pytestmark = pytest.mark.rig
REPLAY = f"""
insert into registry.replay (replay_id, run_id, versions, live, parity, bands, approval, promote, asked_by, price)
values (gen_random_uuid(), 'run-1', '{{"ad_ctr": {FIRST + 1}}}', '{{"ad_ctr": {FIRST}}}', 'exact', '[]', 'ask', true,
    'ada', '{{"records": 1000}}')"""


@pytest.fixture
def hand(cases: Rig) -> Iterator[ByHand]:
    with by_hand(cases.case("ad_ctr").settings) as hand:
        for version in (FIRST, FIRST + 1):
            hand.stage("ad_ctr", version)
        hand.execute(REPLAY)
        yield hand


def arrivals(hand: ByHand) -> float:
    options: Any = {"autocommit": True, "row_factory": dict_row}
    with psycopg.connect(hand.settings.dsn("kappa_operator"), **options) as connection:
        [row] = connection.execute(replays._REPLAYS).fetchall()
    return float(row["arrivals_per_s"])


def test_a_burst_of_one_minute_does_not_go_on(hand: ByHand) -> None:
    for minute in range(5):
        batch(hand, minute, age=60 * minute + 30, read=12_000)
    batch(hand, 9, age=95, read=900_000)
    assert arrivals(hand) == 200.0


def test_nor_does_one_that_came_after_nothing(hand: ByHand) -> None:
    assert arrivals(hand) == 0.0
    for number, age in enumerate((5, 50, 70)):
        batch(hand, number, age=age, read=600_000)
    assert arrivals(hand) == 0.0


def test_what_the_candidate_reads_does_not_arrive(hand: ByHand) -> None:
    for minute in range(5):
        batch(hand, minute, age=60 * minute + 30, read=60_000, version=FIRST + 1)
    assert arrivals(hand) == 0.0
