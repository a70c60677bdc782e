"""When a version's batches are larger than its settings say, and that its records per second stay the same."""

from __future__ import annotations

import pytest

from jobs.driver import batch_sizing
from jobs.driver.watermark import Ends
from kappa.core.job_catalog import find, resolve
from tests.rigs.events import events
from tests.rigs.rig import Rig

SLOW = {"cadence_ms": 2_000, "records_per_batch": 4_000, "allowed_lateness_ms": 7}
FAR = {**SLOW, "cadence_ms": 10_000, "records_per_batch": 20_000}
NEAR = {**SLOW, "records_per_batch": 20_000}


@pytest.mark.parametrize(("unread", "given"), [(60_000, FAR), (59_999, NEAR), (0, NEAR)])
def test_a_query_begins_as_far_where_several_large_batches_are_unread(unread: int, given: dict[str, int]) -> None:
    assert batch_sizing.begin(SLOW, unread) == given


@pytest.mark.parametrize(("unread", "over"), [(20_000, False), (19_999, True), (0, True), (None, False)])
def test_far_is_over_where_less_than_one_of_them_is(unread: int | None, over: bool) -> None:
    assert batch_sizing.is_over(FAR, SLOW, unread) is over


@pytest.mark.parametrize(("unread", "over"), [(60_000, True), (59_999, False), (0, False), (None, False)])
def test_near_is_over_where_it_has_fallen_back(unread: int | None, over: bool) -> None:
    assert batch_sizing.is_over(NEAR, SLOW, unread) is over


@pytest.mark.parametrize(
    ("cadence_ms", "most"), [(2_000, 200), (2_000, 6_000), (2_000, 40_000), (3_000, 100), (999, 25)]
)
def test_far_behind_the_rate_is_that_of_the_settings(cadence_ms: int, most: int) -> None:
    large = batch_sizing.far({"cadence_ms": cadence_ms, "records_per_batch": most})
    assert large["records_per_batch"] * cadence_ms == large["cadence_ms"] * most
    assert large["cadence_ms"] <= batch_sizing.LONGEST_MS
    assert large["records_per_batch"] <= max(most, batch_sizing.MOST_RECORDS)


@pytest.mark.parametrize("unread", [0, 10**9])
@pytest.mark.parametrize("cadence_ms", [0, batch_sizing.LONGEST_MS, 2 * batch_sizing.LONGEST_MS])
def test_no_cadence_and_a_long_one_stay_as_they_are(cadence_ms: int, unread: int) -> None:
    usual = {"cadence_ms": cadence_ms, "records_per_batch": 100}
    assert batch_sizing.begin(usual, unread) == usual
    assert not batch_sizing.is_over(usual, usual, unread)


@pytest.mark.parametrize("job", ["ad_ctr", "client_spend", "quarantine"])
def test_a_job_by_its_defaults_has_the_batches_that_it_has_anyway(job: str) -> None:
    usual = resolve(find(job), {})
    assert batch_sizing.begin(usual, 10**9) == usual
    assert not batch_sizing.is_over(usual, usual, 10**9)


def test_unread_is_what_lies_before_the_ends_of_the_versions_own_partitions() -> None:
    assert batch_sizing.unread({0: 10, 1: 5}, Ends(0, {0: 30, 1: 4, 2: 1_000})) == 20
    assert batch_sizing.unread({0: 10}, None) is None


@pytest.mark.rig
def test_a_driver_far_behind_reads_large_batches_and_small_ones_near_the_end(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Held to 400 records a second, and 1,700 behind after a while in which it was stopped."""
    monkeypatch.setattr(batch_sizing, "LONGEST_MS", 1_000)
    case = rig.case(records_per_batch=100, cadence_ms=250)
    case.produce(events(20))
    case.run_until_read()
    case.produce(events(1_700, 20))
    case.run_until_read()
    sizes = [batch["read"] for batch in case.batches()][1:]
    assert sum(sizes) == 1_700
    assert max(sizes) <= 400
    assert sum(size > 380 for size in sizes) >= 2, sizes
    case.check()
