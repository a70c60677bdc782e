"""Records that lie unevenly: over ads, over partitions, and in time not at all; and of two copies the first counts."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tests.rigs.case import Case
from tests.rigs.events import Sent, event, events
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig


def skewed(seed: int, count: int) -> list[Sent]:
    """90 % on one ad of one client, 99 % in partition 0; a fifth clicks, a tenth resent, of few users."""
    drawn = random.Random(seed)
    sent: list[Sent] = []
    for number in range(count):
        if sent and drawn.random() < 0.1:
            sent.append(drawn.choice(sent[-50:]))
            continue
        popular, user = drawn.random() < 0.9, drawn.randrange(40)
        sent.append(event(
            number, partition=0 if user or drawn.random() < 0.6 else 1, user_id=f"u{user}",
            event_type="click" if drawn.random() < 0.2 else "impression",
            client_id="c1" if popular else f"c{drawn.randrange(2, 9)}",
            ad_id="a1" if popular else f"a{drawn.randrange(2, 99)}",
        ))  # fmt: skip
    return sent


@pytest.mark.fault("F22", "90 % on one ad, 99 % in one partition: every number exact, by all jobs")
def test_skewed_keys_and_partitions_are_exact(rig: Rig, seed: int) -> None:
    case = rig.case("ad_ctr", "client_spend", records_per_batch=500)
    sent = skewed(seed, 2_000)
    shares = Counter(record.partition for record in sent)
    assert shares[0] > 0.98 * len(sent)
    assert shares[1]
    case.produce(sent)
    case.run_until_read()
    case.check()
    told = case.accounts("ad_ctr")
    assert all(told[fate] > 0 for fate in ("counted", "duplicate", "repeated_click"))


def spend(case: Case) -> int:
    return int(case.query("select sum(spend_micros) as micros from serving.ad_ctr_minute")[0]["micros"])


@pytest.mark.fault("F31", "of copies with another cost the first in its partition counts, also across a restart")
def test_of_copies_with_another_cost_the_first_in_its_partition_counts_across_a_restart(rig: Rig) -> None:
    case = rig.case("ad_ctr", "client_spend")
    (first,) = events(1, partition=0, cost_micros=100)
    told: dict[str, Any] = {"user_id": "u0", "event_time": int(first.value.split(b'"event_time": ')[1].split(b",")[0])}  # type: ignore[union-attr]
    case.produce([first])
    case.run_until_read()
    copies = [event(0, partition=0, cost_micros=cost, **told) for cost in (7, 1_000_000, 100)]
    case.produce([*copies, event(0, partition=1, cost_micros=5, **told)])
    case.run_until_read()
    case.check()
    assert spend(case) == 100 + 5, "each partition has a first copy of its own"
    assert case.accounts("ad_ctr")["duplicate_micros"] == 7 + 1_000_000 + 100


@pytest.mark.long(minutes=1)
@pytest.mark.fault("F31", "at random: copies of events, each with another cost, over restarts")
def test_random_copies_with_other_costs_over_restarts_are_exact(rig: Rig, seed: int) -> None:
    case = rig.case(records_per_batch=100)
    drawn, now = random.Random(seed), events(1)[0]
    at = int(now.value.split(b'"event_time": ')[1].split(b",")[0])  # type: ignore[union-attr]
    first: dict[tuple[int, int], int] = {}
    for _ in range(3):
        sent = []
        for _ in range(150):
            number, partition, cost = drawn.randrange(60), drawn.randrange(2), drawn.randrange(10**12)
            first.setdefault((number, partition), cost)
            sent.append(event(number, partition=partition, event_time=at - number * 1_000, cost_micros=cost))
        case.produce(sent)
        case.run_until_read()
    case.check()
    assert spend(case) == sum(first.values())
