"""What records there were, counted: of columns against a plain count, and of parts against the whole."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pyarrow as pa
import pytest

from jobs.transforms.tally import Observed, Tally, of_batch, of_texts
from kappa.core.fates import REFUSED, Fate


@dataclass(frozen=True)
class Row:
    """A record after decoding: of a dead letter nothing but where it lay is known."""

    partition: int
    offset: int
    append_ms: int
    stamped: bool
    fate: Fate | None
    click: bool
    event_ms: int
    micros: int


def drawn(seed: int, count: int = 60) -> list[Row]:
    """Records of three partitions with every fate, in no order."""
    dice = random.Random(seed)
    rows = [
        Row(dice.randrange(3), offset, dice.randrange(1_000), dice.random() < 0.8,
            dice.choice([None, None, *REFUSED]), dice.random() < 0.3, dice.randrange(1_000), dice.randrange(10**12))
        for offset in range(count)
    ]  # fmt: skip
    dice.shuffle(rows)
    return rows


def observed(rows: list[Row]) -> Observed:
    """The rows counted by the product."""
    known = [row.fate is not Fate.DEAD_LETTER for row in rows]
    columns = {
        "partition": pa.array([row.partition for row in rows], pa.int32()),
        "offset": pa.array([row.offset for row in rows], pa.int64()),
        "append_ms": pa.array([row.append_ms for row in rows], pa.int64()),
        "stamped": pa.array([row.stamped for row in rows], pa.bool_()),
        "is_click": pa.array([r.click if k else None for r, k in zip(rows, known, strict=True)], pa.bool_()),
        "event_ms": pa.array([r.event_ms if k else None for r, k in zip(rows, known, strict=True)], pa.int64()),
        "cost_micros": pa.array([r.micros if k else None for r, k in zip(rows, known, strict=True)], pa.int64()),
    }
    return of_batch(pa.record_batch(columns), pa.array([row.fate for row in rows], pa.string()))


def tally(rows: list[Row]) -> Tally:
    return Tally(len(rows), sum(row.micros for row in rows if row.fate is not Fate.DEAD_LETTER))


def plainly(rows: list[Row]) -> Observed:
    """The same, counted row by row."""
    accepted = [row for row in rows if row.fate is None]
    by_partition = {p: [row for row in rows if row.partition == p] for p in {row.partition for row in rows}}
    stamped = {p: [row.append_ms for row in of if row.stamped] for p, of in by_partition.items()}
    last = {p: max(of, key=lambda row: row.offset) for p, of in by_partition.items()}
    return Observed(
        read=len(rows),
        refused={fate: tally([row for row in rows if row.fate is fate]) for fate in REFUSED},
        impressions=tally([row for row in accepted if not row.click]),
        clicks=tally([row for row in accepted if row.click]),
        newest_event_ms=max((row.event_ms for row in accepted), default=None),
        newest_append_ms={p: max(at) for p, at in stamped.items() if at},
        last_append_ms={p: row.append_ms for p, row in last.items()},
        last_offsets={p: row.offset for p, row in last.items()},
    )


@pytest.mark.parametrize("seed", range(5))
def test_columns_are_counted_as_their_rows(seed: int) -> None:
    rows = drawn(seed)
    assert observed(rows) == plainly(rows)


@pytest.mark.parametrize("seed", range(5))
def test_parts_told_as_texts_are_together_what_the_whole_is_in_whichever_order(seed: int) -> None:
    rows = drawn(seed)
    parts = [observed(rows[:5]), observed(rows[5:6]), observed(rows[6:])]
    random.Random(seed).shuffle(parts)
    assert of_texts(part.to_text() for part in parts) == plainly(rows)


def test_one_that_only_a_producer_stamped_is_the_last_but_not_the_newest() -> None:
    row = Row(2, 7, 500, False, None, False, 400, 3)
    assert (observed([row]).newest_append_ms, observed([row]).last_append_ms) == ({}, {2: 500})


def test_nothing_was_read_where_nothing_is_told() -> None:
    nothing = of_texts([])
    assert (nothing.read, nothing.accepted, nothing.newest_event_ms) == (0, 0, None)
    assert nothing.refused == dict.fromkeys(REFUSED, Tally())


def test_sums_are_exact_beyond_what_a_float_holds() -> None:
    rows = [Row(0, offset, 1, True, None, False, 1, 10**12 - offset % 2) for offset in range(20_001)]
    assert observed(rows).impressions == Tally(20_001, 20_001 * 10**12 - 10_000)
