"""Fold old batches into hours and forget old refused records, so that Postgres can serve for years."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kappa.core.audit import Author, Entry
from kappa.platform import Platform
from kappa.registry.bookkeeping_port import BatchesTorn, BooksDiffer, OldBatches, OldRefusals
from kappa.verbs.retire.old_files_plan import KEEP, Keep


@dataclass(frozen=True)
class OldRows:
    """What is to be folded, and what is to be forgotten."""

    batches: tuple[OldBatches, ...]
    refused: tuple[OldRefusals, ...]

    def sentence(self) -> str:
        """How much of what, for people."""
        folded = [f"{one.batches:,} batches of {one.name} ({one.first} to {one.last})" for one in self.batches]
        gone = [
            f"{one.records:,} refused records of quarantine v{one.version}, partition {one.partition} (before offset "
            f"{one.before})"
            for one in self.refused
        ]
        return ", ".join([*folded, *gone]) or "no old rows"

    def to_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "folded": [dict(vars(one)) for one in self.batches],
            "forgotten": [dict(vars(one)) for one in self.refused],
        }


ACTION = "retire.old_rows"


def plan_old_rows(platform: Platform, keep: Keep = KEEP) -> OldRows:
    """What has been kept for long enough. Changes nothing."""
    registry = platform.registry
    batches = registry.old_batches(keep.batches, keep.newest_batches)
    return OldRows(tuple(batches), tuple(registry.old_refusals(keep.refused)))


def carry_out(platform: Platform, plan: OldRows, by: Author) -> str:
    """Fold and forget; the sentence, which the audit has, too, where there was anything to do.

    Each transaction is short, and whole in itself: killed anywhere and run again it goes on with what is left. Raises
    BooksDiffer: nothing was folded; BatchesTorn, when all else is done.
    """
    if not (plan.batches or plan.refused):
        return "no old rows."
    registry = platform.registry
    for refused in plan.refused:
        registry.forget(refused)
    if plan.batches and (names := registry.misbooked()):
        raise BooksDiffer(names)
    torn = list(_fold(platform, plan))
    sentence = f"folded or removed: {plan.sentence()}."
    registry.record(Entry(by, ACTION, None, None, {"sentence": sentence, **plan.to_json()}))
    if torn:
        raise torn[0]
    return sentence


def _fold(platform: Platform, plan: OldRows) -> Iterator[BatchesTorn]:
    """Fold what can be; the refusals of what cannot."""
    for old in plan.batches:
        try:
            platform.registry.fold(old)
        except BatchesTorn as refusal:
            yield refusal
