"""Synthetic traffic: seeded, drawn by numpy in blocks of columns, with Zipf ads, log-normal click delays and knobs for
every kind of disturbed record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from traffic.malformed import VARIANTS
from traffic.records import Event, Kind, Record, encode
from traffic.shape import Axis, Shape

BLOCK = 1_000_000
_SLICE = 10_000
Ints = NDArray[np.int64]

_ROLE = {kind: number for number, kind in enumerate(Kind)}
IMPRESSION, CLICK, OUT_OF_ORDER = _ROLE[Kind.IMPRESSION], _ROLE[Kind.CLICK], _ROLE[Kind.OUT_OF_ORDER]
RESEND, REPEATED_CLICK = _ROLE[Kind.RESEND], _ROLE[Kind.REPEATED_CLICK]
LATE, FUTURE, MALFORMED = _ROLE[Kind.LATE], _ROLE[Kind.FUTURE], _ROLE[Kind.MALFORMED]
_DISTURBED = (OUT_OF_ORDER, RESEND, REPEATED_CLICK, LATE, FUTURE, MALFORMED)
"""In the order of the fields of shape.Fractions."""

_LATENESS_MS, _FUTURE_MS = 7_200_000, 300_000
_MARGIN_MS = 600_000
"""Future records lie this much past the bound, so that they still do after minutes of sending."""


@dataclass(frozen=True)
class Block:
    """Per record: its role (index into Kind), source (the record it repeats, or the malformed variant),
    ad, user, time.

    `ids` holds 32 hex digits a record.
    """

    clients: int
    role: Ints
    source: Ints
    ad: Ints
    user: Ints
    event_time: Ints
    ids: str
    _cells: tuple[list[bool], list[int], list[int], list[int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Python lists beside the arrays: reading one number from an array costs ten times as much."""
        click = (self.role == CLICK) | (self.role == REPEATED_CLICK)
        lists = (click.tolist(), self.ad.tolist(), self.user.tolist(), self.event_time.tolist())
        object.__setattr__(self, "_cells", lists)

    def __len__(self) -> int:
        """Number of records."""
        return len(self.role)

    def slice(self, first: int, end: int) -> tuple[list[int], list[int]]:
        """Roles and sources of the records from `first` to before `end`."""
        return self.role[first:end].tolist(), self.source[first:end].tolist()

    def cells(self, index: int) -> tuple[bool, int, int, int]:
        """Of one record: is it a click, ad, user, event_time."""
        click, ad, user, at = self._cells
        return click[index], ad[index], user[index], at[index]


def build(shape: Shape, axis: Axis, end_ms: int, number: int) -> Block:
    """Block `number` of the traffic: `shape.records` records from `axis.start_ms` on; without `live`
    appended at `end_ms`."""
    rng = np.random.default_rng([shape.seed, number])
    count = shape.records
    happens = axis.start_ms + (np.arange(count) * axis.step_ms).astype(np.int64)
    appended = happens if axis.live else np.full(count, end_ms, dtype=np.int64)
    role = _roles(rng, shape)
    source = _sources(rng, shape, role, happens)
    ad, user = _ads(rng, shape), rng.integers(0, shape.users, count)
    at = _times(rng, role, happens, appended, axis.start_ms)
    for follower in (CLICK, REPEATED_CLICK):
        mine = role == follower
        ad[mine], user[mine] = ad[source[mine]], user[source[mine]]
    again = role == REPEATED_CLICK
    within = shape.repeat_within_ms
    at[again] = at[source[again]] // within * within + rng.integers(0, within, again.sum())
    return Block(shape.clients, role, source, ad, user, at, rng.bytes(16 * count).hex())


def _roles(rng: np.random.Generator, shape: Shape) -> Ints:
    """Each record's role by one draw; clicks are drawn from what is left."""
    edges = np.cumsum(shape.fractions.in_order())
    drawn = np.searchsorted(edges, rng.random(shape.records), side="right")
    role = np.array([*_DISTURBED, IMPRESSION], dtype=np.int64)[drawn]
    clicks = (role == IMPRESSION) & (rng.random(shape.records) < shape.ctr / (1 + shape.ctr))
    role[clicks] = CLICK
    return role


def _sources(rng: np.random.Generator, shape: Shape, role: Ints, happens: Ints) -> Ints:
    """Which earlier record each one repeats; a follower without any becomes an impression, in place."""
    count = len(role)
    source = np.where(role == MALFORMED, rng.integers(0, len(VARIANTS), count), -1)
    delay = shape.click_delay_ms * rng.lognormal(0, shape.click_delay_sigma, count)
    before = np.searchsorted(happens, happens - np.minimum(delay, 600_000), side="right") - 1
    _follow(role, source, CLICK, before, role == IMPRESSION)
    back = np.arange(count) - rng.geometric(0.01, count)
    _follow(role, source, REPEATED_CLICK, back, role == CLICK)
    fresh = (role == IMPRESSION) | (role == CLICK) | (role == OUT_OF_ORDER)
    _follow(role, source, RESEND, back, fresh)
    return source


def _follow(role: Ints, source: Ints, follower: int, at_most: Ints, eligible: NDArray[np.bool_]) -> None:
    """Points each follower at the last eligible record not after `at_most`."""
    last = np.maximum.accumulate(np.where(eligible, np.arange(len(role)), -1))
    found = np.where(at_most >= 0, last[np.maximum(at_most, 0)], -1)
    mine = role == follower
    source[mine] = found[mine]
    role[mine & (found < 0)] = IMPRESSION


def _ads(rng: np.random.Generator, shape: Shape) -> Ints:
    """Zipf: the n-th ad is drawn in proportion to n ** -skew."""
    weight = np.arange(1, shape.ads + 1, dtype=np.float64) ** -shape.skew
    edges = np.cumsum(weight) / weight.sum()
    return np.minimum(np.searchsorted(edges, rng.random(shape.records)), shape.ads - 1).astype(np.int64)


def _times(rng: np.random.Generator, role: Ints, happens: Ints, appended: Ints, start_ms: int) -> Ints:
    """event_time of each record, ms."""
    count = len(role)
    earlier = np.maximum(happens - rng.integers(1_000, 600_000, count), start_ms)
    late = appended - _LATENESS_MS - rng.integers(60_000, 21_600_000, count)
    future = appended + _FUTURE_MS + _MARGIN_MS + rng.integers(0, 3_600_000, count)
    choices = [earlier, np.maximum(late, 0), future]
    return np.select([role == OUT_OF_ORDER, role == LATE, role == FUTURE], choices, happens)


def records(shape: Shape, axis: Axis) -> Iterator[Record]:
    """The traffic of one seed; equal arguments give equal bytes. Clicks and resends refer back within a
    block of a million."""
    for number, first in enumerate(range(0, shape.records, BLOCK)):
        part = replace(shape, records=min(BLOCK, shape.records - first))
        start = replace(axis, start_ms=axis.start_ms + round(first * axis.step_ms))
        end_ms = axis.start_ms + round(shape.records * axis.step_ms)
        yield from _encoded(build(part, start, end_ms, number), first * axis.step_ms / 1000, axis.step_ms / 1000)


def _encoded(block: Block, due: float, step: float) -> Iterator[Record]:
    kinds = tuple(Kind)
    for first in range(0, len(block), _SLICE):
        roles, sources = block.slice(first, first + _SLICE)
        for index, (role, source) in enumerate(zip(roles, sources, strict=True), first):
            event = _event(block, source if role == RESEND else index)
            key, value = event.user_id.encode(), encode(event)
            at = due + index * step
            if role == MALFORMED:
                yield Record(*VARIANTS[source].broken(key, value), at, Kind.MALFORMED)
            else:
                yield Record(key, value, at, kinds[role])


def _event(block: Block, index: int) -> Event:
    is_click, ad, user, event_time = block.cells(index)
    digits = block.ids[32 * index : 32 * index + 32]
    client = f"c{ad % block.clients}"
    return Event(
        f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}",
        "click" if is_click else "impression",
        f"s{ad % 7}",
        client,
        f"{client}-a{ad}",
        f"u{user}",
        event_time,
        (100_000 + ad % 90 * 1_000) if is_click else (1_000 + ad % 40 * 100),
    )
