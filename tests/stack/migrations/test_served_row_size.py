"""What a served row takes with its index and with what its updates left, held against what sizing reckons with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rigs.rig import Rig
from tests.rigs.served_by_hand import FIRST, ByHand, by_hand
from tests.stack.provisioning import terraform_tree

pytestmark = pytest.mark.rig
ADS, MINUTES, UPDATES = 500, 60, 10
NEW = """
insert into data.ad_ctr_minute select %s, 'client-' || ad %% 40, 'ad-' || 100000 + ad,
    '2026-03-01'::timestamptz + %s * interval '1 minute', 1, 1, 1, 1, 1, 1, 1, 1 from generate_series(1, %s) as ad"""
MORE = """
update data.ad_ctr_minute set impressions = impressions + 1, seen_impressions = seen_impressions + 1
where version = %s and window_start = '2026-03-01'::timestamptz + %s * interval '1 minute'"""


@pytest.fixture
def hand(cases: Rig) -> Iterator[ByHand]:
    with by_hand(cases.case("ad_ctr").settings) as hand:
        yield hand


def test_sizing_reckons_with_at_least_what_a_served_row_takes(hand: ByHand) -> None:
    """A minute's rows come in with one batch, and change with ten more; Postgres cleans up about once a minute."""
    hand.stage("ad_ctr", FIRST)
    table = f"data.ad_ctr_minute_v{FIRST}"
    for minute in range(MINUTES):
        hand.execute(NEW, FIRST, minute, ADS)
        for _ in range(UPDATES):
            hand.execute(MORE, FIRST, minute)
        hand.execute(f"vacuum {table}")
    [(size,)] = hand.execute("select pg_total_relation_size(%s::regclass)", table)
    measured = size / (ADS * MINUTES)
    print(f"{measured:.0f} bytes of a served row")
    assert measured <= terraform_tree.reckoned()["row_bytes"] <= 3 * measured
