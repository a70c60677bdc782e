"""The knobs of synthetic traffic, and when its records happen."""

from __future__ import annotations

from dataclasses import dataclass, fields

from kappa.core.refusals import Refusal

_MINUTE_MS = 60_000


class KnobOutOfRange(Refusal):
    """A knob of the synthetic source has a value that it cannot have."""

    def __init__(self, name: str, value: object, rule: str) -> None:
        super().__init__(f"--{name.replace('_', '-')} {value} is not allowed: {rule}.")


@dataclass(frozen=True)
class Fractions:
    """Which part of all records is of each disturbed kind; what is left are fresh impressions and clicks."""

    out_of_order: float = 0.0
    resends: float = 0.0
    repeated_clicks: float = 0.0
    late: float = 0.0
    future: float = 0.0
    malformed: float = 0.0

    def in_order(self) -> list[float]:
        """The fractions in the order of the fields."""
        return [getattr(self, field.name) for field in fields(self)]


@dataclass(frozen=True)
class Axis:
    """When the n-th record happens: n * step_ms after start_ms (epoch ms).

    `live`: a record is appended when it happens; else all are appended at the end, as fast as it goes.
    """

    start_ms: int
    step_ms: float
    live: bool


@dataclass(frozen=True)
class Shape:
    """What the traffic looks like: sizes, skew of the ads (Zipf exponent), click-through rate, click delay in ms.

    A repeated click lies in the same interval of `repeat_within_ms` as the click that it repeats.
    """

    seed: int
    records: int
    ads: int = 2_000
    clients: int = 50
    users: int = 100_000
    skew: float = 1.1
    ctr: float = 0.02
    click_delay_ms: float = 8_000.0
    click_delay_sigma: float = 0.9
    repeat_within_ms: int = 10_000
    fractions: Fractions = Fractions()

    def __post_init__(self) -> None:
        """Raises KnobOutOfRange."""
        for name in ("records", "ads", "clients", "users"):
            _require(name, getattr(self, name), getattr(self, name) >= 1, "it must be at least 1")
        within = self.repeat_within_ms
        divides = 0 < within <= _MINUTE_MS and _MINUTE_MS % within == 0
        _require("repeat_within", f"{within} ms", divides, "it must divide a minute, as click intervals do")
        _require("ctr", self.ctr, 0 <= self.ctr <= 1, "it must lie between 0 and 1")
        for field in fields(self.fractions):
            value = getattr(self.fractions, field.name)
            _require(field.name, value, 0 <= value <= 1, "a fraction lies between 0 and 1")
        total = sum(self.fractions.in_order())
        _require("resends", total, total <= 1, "the fractions of disturbed records must sum to 1 at most")


def _require(name: str, value: object, holds: bool, rule: str) -> None:
    if not holds:
        raise KnobOutOfRange(name, value, rule)
