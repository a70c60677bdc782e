"""The port to the books that grow with time: batches that are folded into hours, refused records that are forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from kappa.core.refusals import Refusal


class BooksDiffer(Refusal):
    """The totals are not the sum of what was booked."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            f"ops.accounting is not the sum of the batches of {', '.join(names)}; nothing was folded, so that it can "
            "still be seen. Rows of registry.batch, batch_hour or batch_total were changed by hand: hold what is "
            "served against the log with './kappa reconcile', and replay it with './kappa reprocess'."
        )


class BatchesTorn(Refusal):
    """Old batches whose offsets do not join."""

    def __init__(self, name: str, batch_id: int) -> None:
        super().__init__(
            f"{name}: batch {batch_id} does not begin where the one before it ended; from there on nothing was folded. "
            "Rows of registry.batch were changed by hand: hold what is served against the log with "
            "'./kappa reconcile', and replay it with './kappa reprocess'."
        )


@dataclass(frozen=True)
class OldBatches:
    """The batches of a checkpoint's generation that need not be kept one by one: the ids of the first and the last, and
    how many they are."""

    job: str
    version: int
    generation: int
    first: int
    last: int
    batches: int

    @property
    def name(self) -> str:
        """The version and the generation, for people."""
        return f"{self.job} v{self.version} g{self.generation}"


@dataclass(frozen=True)
class OldRefusals:
    """The refused records of a partition that need not be kept: those of a version of `quarantine` before an offset."""

    version: int
    partition: int
    before: int
    records: int


class Bookkeeping(Protocol):
    """What the registry keeps of each batch and of each refused record. An act is a row of short transactions, each
    whole in itself; it says how much it did, and goes on with what is left where an earlier one was cut short."""

    def old_batches(self, keep: timedelta, newest: int) -> list[OldBatches]:
        """Batches of hours that are all longer ago than `keep`; never the `newest` of a generation, but for a version
        that is RETIRED: no checkpoint names them any more."""

    def fold(self, old: OldBatches) -> int:
        """Put those of each hour into one row that has their joined offsets, counts and micros; how many.

        ops.accounting does not change. Raises BatchesTorn: those of later hours were not folded.
        """

    def misbooked(self) -> list[str]:
        """The versions, by name, of which ops.accounting is not the sum of what was booked."""

    def old_refusals(self, keep: timedelta) -> list[OldRefusals]:
        """Refused records before the first one that was appended or recorded within `keep`, by partition."""

    def forget(self, old: OldRefusals) -> int:
        """Note down from which offset on the partition's refused records are kept, and remove the older ones; how
        many."""
