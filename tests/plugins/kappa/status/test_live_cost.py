"""What a replay under way costs the live version: how far apart its batches come, beside the hour before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kappa.console import history
from kappa.console.database import Database
from kappa.status import live_cost
from tests.plugins.kappa.status.test_arrivals_read import REPLAY
from tests.plugins.kappa.status.test_loads_read import batch
from tests.rigs.rig import Rig
from tests.rigs.served_by_hand import FIRST, ByHand, by_hand

pytestmark = pytest.mark.rig
BEGUN = 120
"""So many seconds ago the replay began."""


@pytest.fixture
def hand(cases: Rig) -> Iterator[ByHand]:
    with by_hand(cases.case("ad_ctr").settings) as hand:
        hand.execute("delete from registry.replay")
        for version in (FIRST, FIRST + 1):
            hand.stage("ad_ctr", version)
        hand.execute(REPLAY)
        hand.execute(f"update registry.replay set begun_at = clock_timestamp() - interval '{BEGUN} seconds'")
        yield hand
        hand.execute("delete from registry.replay")


def test_the_live_versions_batches_are_held_against_those_of_the_hour_before(hand: ByHand) -> None:
    for number in range(30):
        batch(hand, number, age=BEGUN + 5 + 2 * number, read=10)
    for number in range(20):
        batch(hand, 100 + number, age=1 + 5 * number, read=10)
        batch(hand, 200 + number, age=1 + 1.5 * number, read=10, version=FIRST + 1)
    batch(hand, 90, age=BEGUN + 4_000, read=10)
    [replay] = history.under_way(Database(hand.settings))["replays"]
    [candidate] = replay["candidates"]
    expected = {"now_middle": 5.0, "now_most": 5.0, "before_middle": 2.0, "before_most": 2.0}
    assert candidate["cost"] == pytest.approx(expected, abs=0.7)


def test_without_batches_nothing_is_told(hand: ByHand) -> None:
    database = Database(hand.settings)
    with database.reading() as connection:
        assert live_cost.read(connection) == {}
    [replay] = history.under_way(database)["replays"]
    assert replay["candidates"][0]["cost"] is None
