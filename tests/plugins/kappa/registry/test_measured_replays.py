"""How fast a job is replayed and how long its drivers start, told from what earlier replays left in the registry."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from kappa.core.replays import Weighed
from kappa.registry.postgres import PostgresReleases
from tests.rigs.rig import Rig
from tests.rigs.served_by_hand import FIRST, ByHand, by_hand

pytestmark = pytest.mark.rig
SETTINGS = {"records_per_batch": 200_000, "cadence_ms": 1_000}


@pytest.fixture
def hand(cases: Rig) -> Iterator[ByHand]:
    with by_hand(cases.case("ad_ctr").settings) as hand:
        yield hand


def replayed(
    hand: ByHand, number: int, start: float, seconds: float, records: int, settling: float = 15, **settings: int
) -> None:
    """A candidate that committed first after `start` seconds, and had caught up after so many, with so many records of
    its own, read until `settling` seconds before, and of another job's."""
    hand.stage("ad_ctr", FIRST + number, SETTINGS | settings)
    [(began,)] = hand.execute("select date_trunc('second', clock_timestamp()) - interval '1 hour'")
    hand.execute(
        "insert into registry.launch (launch_id, job, version, intended_at, ended_at) "
        "values (gen_random_uuid(), 'ad_ctr', %s, %s, now())", FIRST + number, began,
    )  # fmt: skip
    zeros = ", ".join(["0"] * 12)
    for batch_id, read, at in ((0, 9, start), (1, records, seconds - settling), (2, 40, seconds - 5)):
        hand.execute(
            "insert into registry.batch (job, version, generation, batch_id, epoch, topic_id, start_offsets, "
            "end_offsets, read, counted, duplicate, repeated_click, late, future, before_start, dead_letter, "
            "counted_micros, duplicate_micros, repeated_click_micros, late_micros, future_micros, before_start_micros, "
            "rows_changed, committed_at) "
            f"values ('ad_ctr', %s, 1, %s, 1, 'id', '{{}}', '{{}}', %s, %s, {zeros}, 2, %s)",
            FIRST + number, batch_id, read, read, began + timedelta(seconds=at),
        )  # fmt: skip
    evidence = {"launched": {"began": began.isoformat()}, "caught_up": {"done": 2 * records}}
    for action, at in (("launched", began), ("caught_up", began + timedelta(seconds=seconds))):
        for job in ("ad_ctr", "client_spend"):
            hand.execute(
                "insert into registry.audit (at, actor, action, job, version, run_id, evidence) "
                "values (%s, 'ada', %s, %s, %s, %s, %s)",
                at, f"reprocess.{action}", job, FIRST + number, f"run-{number}", Jsonb(evidence[action]),
            )  # fmt: skip


def weighed(hand: ByHand) -> Weighed:
    dsn = hand.settings.dsn("kappa_registry")
    return PostgresReleases(dsn, dsn).weighed("ad_ctr", FIRST)


def measured(hand: ByHand) -> tuple[Any, Any]:
    found = weighed(hand)
    return found.start_s, found.replays_per_s


def test_starts_and_rates_are_those_of_the_replays_of_this_installation(hand: ByHand) -> None:
    """Each one's own start is no part of the time that it read, nor is what passes until it is called ready; half of
    its one large batch is what its JVM took to be warm."""
    replayed(hand, 0, 70, 185, 50_000)
    assert measured(hand) == (70, pytest.approx(1_000))
    assert weighed(hand).warming_s == 50
    replayed(hand, 1, 40, 175, 190_000)
    assert measured(hand) == (40, pytest.approx((1_000 + 190_000 / 60) / 2)), "the first one started cold"
    replayed(hand, 2, 300, 1_315, 50_000)
    assert measured(hand) == (70, pytest.approx(1_000)), "the middle one of the newest three"
    replayed(hand, 3, 45, 160, 190_000)
    assert measured(hand) == (45, pytest.approx(190_000 / 60))


def test_from_the_last_large_batch_on_a_candidate_settles_and_reads_no_more_of_what_waited(hand: ByHand) -> None:
    for number, (seconds, settling) in enumerate(((120, 30), (100, 22), (200, 90))):
        replayed(hand, number, 60, seconds, 50_000, settling)
    assert (weighed(hand).settling_s, *measured(hand)) == (30, 60, pytest.approx(50_000 / 15))


def test_a_candidate_starts_beside_all_that_is_live_so_starts_of_deployments_count_only_until_one_did(
    hand: ByHand,
) -> None:
    replayed(hand, 0, 15, 127, 50_000)
    hand.execute("delete from registry.audit where action = 'reprocess.launched'")
    assert (weighed(hand).start_s, weighed(hand).deployment_s) == (None, 15)
    hand.execute(
        "insert into registry.audit (at, actor, action, job, version) select intended_at + interval '12 s', 'ada', "
        "'deploy.live', job, version from registry.launch where job = 'ad_ctr'"
    )
    assert (weighed(hand).start_s, weighed(hand).deployment_s) == (None, 12), (
        "over an empty log the first commit is that of the first record"
    )
    replayed(hand, 1, 90, 190, 50_000)
    assert (weighed(hand).start_s, weighed(hand).deployment_s) == (90, 12)


def test_who_was_told_to_read_slowly_says_nothing_of_how_fast_it_could(hand: ByHand) -> None:
    replayed(hand, 0, 60, 160, 50_000, records_per_batch=600)
    assert measured(hand) == (60, None)


def test_a_launch_that_found_nothing_to_read_is_no_start_that_took_hours(hand: ByHand) -> None:
    replayed(hand, 0, 3_000, 3_100, 50_000)
    assert measured(hand)[0] is None


def test_only_the_audit_can_be_older_than_what_batches_are_kept(hand: ByHand) -> None:
    replayed(hand, 0, 70, 185, 50_000)
    hand.execute("delete from registry.batch")
    assert measured(hand) == (None, pytest.approx(50_000 / 140))
    assert weighed(hand).settling_s is None


def test_how_fast_a_candidate_reads_once_it_is_warm_and_what_its_first_full_batch_lost(hand: ByHand) -> None:
    for number, first_s in enumerate((45, 65)):
        replayed(hand, number, 90, 250, 600_000)
        full(hand, number, first_s, 20, 30)
    assert measured(hand) == (90, pytest.approx(8_000))
    assert weighed(hand).warming_s == pytest.approx((20 + 40) / 2)
    replayed(hand, 2, 90, 250, 500_000)
    full(hand, 2, 45)
    assert measured(hand) == (90, pytest.approx(8_000)), "one full batch does not tell how fast the next ones are"


def full(hand: ByHand, number: int, *seconds: float) -> None:
    """Full batches of a candidate after its first one, each so many seconds after the one before it, and no others."""
    hand.execute("delete from registry.batch where (job, version) = ('ad_ctr', %s) and batch_id > 0", FIRST + number)
    for batch in range(1, len(seconds) + 1):
        hand.execute(
            "insert into registry.batch select (jsonb_populate_record(b, jsonb_build_object('batch_id', %s, "
            "'read', 200000, 'counted', 200000, 'committed_at', b.committed_at + %s * interval '1 second'))).* "
            "from registry.batch b where (job, version, batch_id) = ('ad_ctr', %s, 0)",
            batch, sum(seconds[:batch]), FIRST + number,
        )  # fmt: skip
