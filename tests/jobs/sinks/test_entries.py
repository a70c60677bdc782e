"""Double entry: both sides of a batch must agree, or it does not commit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.sinks.entries import Change, DoubleEntryBroken, check, fates, stateless_fates
from jobs.transforms.tally import Observed, Tally
from kappa.core.fates import REFUSED, Fate

NOTHING = Tally()
OBSERVED = Observed(
    read=20,
    refused={**dict.fromkeys(REFUSED, NOTHING), Fate.LATE: Tally(2, 20), Fate.DEAD_LETTER: Tally(3, 0)},
    impressions=Tally(10, 1000),
    clicks=Tally(5, 5000),
    newest_event_ms=1,
    newest_append_ms={0: 2},
)
CHANGE = Change(
    rows=4,
    fallen=0,
    impressions=Tally(8, 800),
    clicks=Tally(4, 4000),
    seen_impressions=Tally(10, 1000),
    seen_clicks=Tally(5, 5000),
)


def test_a_batch_whose_sides_agree_passes() -> None:
    check(OBSERVED, CHANGE, rewrite=False)


@pytest.mark.parametrize(
    "change",
    [
        replace(CHANGE, seen_impressions=Tally(9, 1000)),
        replace(CHANGE, seen_impressions=Tally(10, 999)),
        replace(CHANGE, seen_clicks=Tally(5, 5001)),
        replace(CHANGE, fallen=1),
    ],
    ids=["one impression short", "one micro short", "one micro more", "a value fell"],
)
def test_a_batch_whose_sides_differ_is_refused(change: Change) -> None:
    with pytest.raises(DoubleEntryBroken):
        check(OBSERVED, change, rewrite=False)


def test_a_rewrite_must_change_nothing() -> None:
    check(OBSERVED, Change(4, 0, NOTHING, NOTHING, NOTHING, NOTHING), rewrite=True)
    with pytest.raises(DoubleEntryBroken):
        check(OBSERVED, CHANGE, rewrite=True)
    with pytest.raises(DoubleEntryBroken):
        check(OBSERVED, Change(4, 0, Tally(1, 0), NOTHING, NOTHING, NOTHING), rewrite=True)


def test_the_fates_of_a_batch_add_up_to_what_it_read() -> None:
    found = fates(OBSERVED, CHANGE)
    assert sum(tally.records for tally in found.values()) == OBSERVED.read
    assert set(found) == set(Fate)
    assert found[Fate.COUNTED] == Tally(12, 4800)
    assert found[Fate.DUPLICATE] == Tally(2, 200)
    assert found[Fate.REPEATED_CLICK] == Tally(1, 1000)


def test_a_stateless_job_passes_what_it_does_not_refuse() -> None:
    found = stateless_fates(OBSERVED)
    assert sum(tally.records for tally in found.values()) == OBSERVED.read
    assert found[Fate.COUNTED] == Tally(15, 6000)
