"""Which rows of the books were kept for long enough: batches to be folded, refused records to be forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kappa.registry.bookkeeping_port import OldBatches, OldRefusals


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
