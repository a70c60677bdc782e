"""Spend is a sum of two kinds, each as great as a bigint may be."""

from __future__ import annotations

import pytest

from tests.rigs.rig import Rig
from tests.rigs.served_by_hand import FIRST, by_hand, utc

pytestmark = pytest.mark.rig
MOST = 2**63 - 1


def test_the_greatest_spend_of_both_kinds_is_read(cases: Rig) -> None:
    with by_hand(cases.case("ad_ctr").settings) as hand:
        hand.stage("ad_ctr", FIRST)
        hand.serve("ad_ctr", ("-infinity", "infinity", FIRST))
        at = utc("2026-03-10 12:00")
        hand.rows("ad_ctr", FIRST, [
            {"client_id": "c1", "ad_id": "a1", "window_start": at, "impression_micros": MOST, "click_micros": MOST},
        ])  # fmt: skip
        told = hand.execute("select spend_micros from serving.ad_ctr_minute", role="kappa_reader")
    assert [int(row[0]) for row in told] == [2 * MOST]
