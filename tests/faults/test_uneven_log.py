"""Partitions whose append times reach back unevenly far, read in small batches, lose nothing to the watermark."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from jobs.driver import watermark
from jobs.pipelines import windowed
from jobs.transforms import windows
from tests.faults.recoveries import refused
from tests.rigs.case import Case
from tests.rigs.driver_process import EVICTS_ALWAYS
from tests.rigs.events import event
from tests.rigs.rig import Rig
from tests.rigs.safeguards import SAFEGUARDS
from tests.rigs.staged_driver import stage

pytestmark = pytest.mark.rig
HOUR = 2_000
"""An hour of the fault, in ms: append times are the broker's, so all times are scaled down, and the rest with them."""
MINUTE = HOUR // 60
HOURS, STEPS_AN_HOUR = 6, 4
SETTINGS = {
    "allowed_lateness_ms": 2 * HOUR, "future_bound_ms": 5 * MINUTE, "records_per_batch": 100, "cadence_ms": 0,
}  # fmt: skip


@pytest.fixture(autouse=True)
def scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows and the watermark's margin on that scale; and every batch evicts, as one in two hours does otherwise:
    only that drops what is behind the watermark."""
    monkeypatch.setattr(watermark, "MARGIN_MS", MINUTE)
    build: Callable[..., Any] = windowed.build
    monkeypatch.setattr(
        windowed, "build", lambda records, job, run: build(records, replace(job, window_ms=2 * MINUTE), run)
    )
    monkeypatch.setattr(windows, "MARK", EVICTS_ALWAYS)


def append_unevenly(case: Case, seed: int) -> None:
    """Partition 0 over six hours; partition 1, half as many, in the last half hour; events up to 1 h 45 min older."""
    drawn, steps, number = random.Random(seed), HOURS * STEPS_AN_HOUR, 0
    for step in range(steps):
        last = step >= steps - STEPS_AN_HOUR // 2
        sent = []
        for partition in [0] * 33 + [1] * (200 if last else 0):
            ago = drawn.randrange(7 * HOUR // 4)
            sent.append(event(number, partition=partition, ad_id=f"a{drawn.randrange(3)}", ago_ms=ago))
            number += 1
        case.produce(sent)
        time.sleep(HOUR / STEPS_AN_HOUR / 1000)


def counted_and_seen(case: Case) -> tuple[int, int]:
    """Accepted records by the accounts, and by the rows."""
    told = case.accounts()
    return told["counted"] + told["duplicate"], sum(row["seen_impressions"] for row in case.rows())


@pytest.mark.fault("F35", "6 h against 30 min of append times, scaled down: no record lost to the watermark")
def test_an_uneven_backlog_in_small_batches_loses_nothing(rig: Rig, seed: int) -> None:
    case = rig.case(**SETTINGS)
    append_unevenly(case, seed)
    check_nothing_lost(case)
    case.versions["ad_ctr"] = stage(case.layout, "ad_ctr", SETTINGS)
    with SAFEGUARDS["skew"].taken_away(), SAFEGUARDS["guard"].taken_away():
        said = refused(case)
    assert "double entry: the change of seen impressions" in said, "this log puts the safeguards to the test"


@pytest.mark.long(minutes=1)
@pytest.mark.fault("F35", "the look one batch ahead alone keeps every record as well: it restarts the query")
def test_the_guard_alone_loses_nothing(rig: Rig, seed: int) -> None:
    case = rig.case(**SETTINGS)
    append_unevenly(case, seed)
    with SAFEGUARDS["skew"].taken_away():
        check_nothing_lost(case)


def check_nothing_lost(case: Case) -> None:
    case.run_until_read()
    accepted, seen = counted_and_seen(case)
    assert (case.state(), seen) == ("LIVE", accepted)
    assert accepted > 1_000
    case.check_ranges()
