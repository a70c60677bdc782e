"""What a window's set of events comes to: what arrived, and what counts of it, the first of each identity.

In Arrow, not by Spark's higher-order functions: those are interpreted, and for each field of each element that one of
them reads Spark 4.2 builds a new view of its whole configuration (decision 0016).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StructField, StructType

from jobs.transforms.python_worker import on_each_batch
from kappa.core.measures import MEASURES
from kappa.core.refusals import Refusal

EVENTS = "events"
"""The column that holds the set: list<struct(kind, id, offset, cost)>, as `windows.element` makes them."""
Numbers = NDArray[np.int64]
Chosen = NDArray[np.bool_]
MOST = 2**62
"""The most micros that a window may come to; half of what a column holds, since it is looked for in floating point."""


class WindowTooCostly(Refusal):
    """The costs of one window add up to more than a column can hold."""

    def __init__(self, micros: float) -> None:
        super().__init__(
            f"a window's records cost {micros:.3g} micros together, and a sum may be {MOST:,}; nothing was committed. "
            "No billing comes near that: find who sends such costs, and leave the records out by a replay from after "
            "them ('./kappa reprocess')."
        )


def folded(groups: DataFrame) -> DataFrame:
    """Rows with EVENTS to the same rows with MEASURES in its place, at the end."""
    others = [field for field in groups.schema.fields if field.name != EVENTS]
    schema = StructType([*others, *(StructField(name, LongType(), nullable=False) for name in MEASURES)])
    return groups.mapInArrow(on_each_batch(fold_batch), schema)


def fold_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """One Arrow batch of groups: its columns but EVENTS, then MEASURES, row by row."""
    others = [name for name in batch.schema.names if name != EVENTS]
    measures = [pa.array(measure) for measure in count(batch.column(EVENTS))]
    return pa.RecordBatch.from_arrays([*map(batch.column, others), *measures], names=[*others, *MEASURES])


def count(sets: pa.ListArray) -> tuple[Numbers, ...]:
    """MEASURES of each set, in order: of the first of each identity, then of all elements. Raises WindowTooCostly."""
    elements = sets.flatten()
    row = np.repeat(np.arange(len(sets)), np.diff(sets.offsets.to_numpy()))
    kind, offset, cost = (elements.field(name).to_numpy() for name in ("kind", "offset", "cost"))
    if (most := np.bincount(row, cost).max(initial=0)) > MOST:
        raise WindowTooCostly(most)
    first = _first_of_each(_identities(row, kind, elements.field("id")), offset)
    is_click = kind % 2 == 1
    counted = _totals(row, cost, first & ~is_click, first & is_click, len(sets))
    return (*counted, *_totals(row, cost, ~is_click, is_click, len(sets)))


def _totals(row: Numbers, cost: Numbers, shown: Chosen, clicked: Chosen, rows: int) -> tuple[Numbers, ...]:
    """Impressions, clicks, and the micros of both, by row."""
    return (
        np.bincount(row[shown], minlength=rows),
        np.bincount(row[clicked], minlength=rows),
        _sums(row[shown], cost[shown], rows),
        _sums(row[clicked], cost[clicked], rows),
    )


def _identities(row: Numbers, kind: Numbers, own: pa.BinaryArray) -> Numbers:
    """A number for each (row, kind, id), equal only where all three are.

    Rows, distinct kinds and distinct ids of one Arrow batch are each far fewer than 2^21, so the product fits.
    """
    kinds, kind_code = np.unique(kind, return_inverse=True)
    names = own.dictionary_encode()
    own_code: Numbers = names.indices.to_numpy().astype(np.int64)
    return (row * len(kinds) + kind_code) * len(names.dictionary) + own_code


def _first_of_each(identity: Numbers, offset: Numbers) -> Chosen:
    """Whether an element has the least offset of its identity."""
    order = np.lexsort((offset, identity))
    ordered = identity[order]
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = ordered[1:] != ordered[:-1]
    first = np.empty_like(starts)
    first[order] = starts
    return first


def _sums(row: Numbers, cost: Numbers, rows: int) -> Numbers:
    """Exact sums by row; `bincount` with weights would add as floating point."""
    sums = np.zeros(rows, dtype=np.int64)
    np.add.at(sums, row, cost)
    return sums
