"""Synthetic traffic: seeded, with Zipf ads, log-normal click delays and knobs for every kind of disturbed
record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from traffic.columns import MALFORMED, RESEND, Block, build
from traffic.malformed import VARIANTS
from traffic.records import Event, Kind, Record, encode
from traffic.shape import Axis, Shape

BLOCK = 1_000_000
_SLICE = 10_000


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
