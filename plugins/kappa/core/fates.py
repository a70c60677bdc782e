"""The closed vocabulary of a record's fate (contract, section 2)."""

from __future__ import annotations

from enum import StrEnum


class Fate(StrEnum):
    """What became of a record, in the order of the contract's table: the first that applies decides."""

    DEAD_LETTER = "dead_letter"
    BEFORE_START = "before_start"
    FUTURE = "future"
    LATE = "late"
    DUPLICATE = "duplicate"
    REPEATED_CLICK = "repeated_click"
    COUNTED = "counted"


REFUSED = (Fate.DEAD_LETTER, Fate.BEFORE_START, Fate.FUTURE, Fate.LATE)
"""Fates that are decided on the record alone; all others are decided within the window's set of events."""

QUARANTINED = (Fate.DEAD_LETTER, Fate.FUTURE, Fate.LATE)
"""Fates whose records are kept in quarantine."""
