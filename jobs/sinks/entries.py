"""Double entry (contract, section 2): what a batch counted and what it changed in the served rows, held together."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.transforms.tally import Observed, Tally
from kappa.core.fates import Fate
from kappa.core.refusals import Refusal


class DoubleEntryBroken(Refusal):
    """The served rows would change by something else than what the batch accepted, or a value would fall."""

    def __init__(self, what: str, expected: object, found: object) -> None:
        super().__init__(
            f"double entry: {what} should be {expected}, but is {found}; the batch was rolled back. The state is older "
            "than it says, or a rule has changed under it: replay the log into a new version with './kappa reprocess'."
        )


@dataclass(frozen=True)
class Change:
    """What an upsert changed, summed over its rows: new minus old per measure, and the rows in which a value fell."""

    rows: int
    fallen: int
    impressions: Tally
    clicks: Tally
    seen_impressions: Tally
    seen_clicks: Tally


def check(observed: Observed, change: Change, rewrite: bool) -> None:
    """Refuse a batch whose two sides differ, or that counts more than arrived; a rewrite must change nothing.

    Raises DoubleEntryBroken.
    """
    if change.fallen:
        raise DoubleEntryBroken("the number of rows in which a value fell", 0, change.fallen)
    nothing = Tally()
    for kind, accepted, seen, counted in (
        ("impressions", observed.impressions, change.seen_impressions, change.impressions),
        ("clicks", observed.clicks, change.seen_clicks, change.clicks),
    ):
        expected = nothing if rewrite else accepted
        if seen != expected:
            raise DoubleEntryBroken(f"the change of seen {kind}", expected, seen)
        if counted.records > seen.records and not rewrite:
            beyond = counted.records - seen.records
            raise DoubleEntryBroken(f"the number of {kind} counted beyond those that arrived", 0, beyond)
    if rewrite and (change.impressions, change.clicks) != (nothing, nothing):
        raise DoubleEntryBroken("the change made by a rewrite", nothing, (change.impressions, change.clicks))


def fates(observed: Observed, change: Change) -> dict[Fate, Tally]:
    """A batch's records and micros by fate; together they are what it read."""
    return {
        **observed.refused,
        Fate.COUNTED: change.impressions + change.clicks,
        Fate.DUPLICATE: _difference(change.seen_impressions, change.impressions),
        Fate.REPEATED_CLICK: _difference(change.seen_clicks, change.clicks),
    }


def stateless_fates(observed: Observed) -> dict[Fate, Tally]:
    """The fates of a job without state: it refuses, and passes the rest as counted without telling duplicates apart."""
    passed = observed.impressions + observed.clicks
    return {**observed.refused, Fate.COUNTED: passed, Fate.DUPLICATE: Tally(), Fate.REPEATED_CLICK: Tally()}


def _difference(a: Tally, b: Tally) -> Tally:
    return Tally(a.records - b.records, a.micros - b.micros)
