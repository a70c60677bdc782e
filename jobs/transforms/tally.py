"""What records there were, counted as they are decoded, before any aggregate: one side of double entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kappa.core.fates import REFUSED, Fate

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Tally:
    """A number of records and the sum of their cost_micros."""

    records: int = 0
    micros: int = 0

    def __add__(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(self.records + other.records, self.micros + other.micros)


@dataclass(frozen=True)
class Observed:
    """Records before the aggregate: how many were read, refused by fate, accepted by kind, and how far they reach.

    `newest_event_ms` is of accepted events; `newest_append_ms` is per partition, of records that the broker stamped;
    `last_append_ms` is that of the last record per partition, whoever stamped it, and `last_offsets` its offset.
    """

    read: int = 0
    refused: Mapping[Fate, Tally] = field(default_factory=lambda: dict.fromkeys(REFUSED, Tally()))
    impressions: Tally = Tally()
    clicks: Tally = Tally()
    newest_event_ms: int | None = None
    newest_append_ms: Mapping[int, int] = field(default_factory=dict)
    last_append_ms: Mapping[int, int] = field(default_factory=dict)
    last_offsets: Mapping[int, int] = field(default_factory=dict)

    @property
    def accepted(self) -> int:
        """Records that no rule refused on their own account."""
        return self.impressions.records + self.clicks.records

    def __add__(self, other: Observed) -> Observed:
        """Both together."""
        newest = [at for at in (self.newest_event_ms, other.newest_event_ms) if at is not None]
        later = {p: at for p, at in other.last_offsets.items() if at >= self.last_offsets.get(p, at)}
        return Observed(
            self.read + other.read,
            {fate: self.refused[fate] + other.refused[fate] for fate in REFUSED},
            self.impressions + other.impressions,
            self.clicks + other.clicks,
            max(newest, default=None),
            _newer(self.newest_append_ms, other.newest_append_ms),
            {**self.last_append_ms, **{p: other.last_append_ms[p] for p in later}},
            {**self.last_offsets, **later},
        )

    def to_text(self) -> str:
        """JSON."""
        return msgspec.json.encode(self).decode()


def of_texts(texts: Iterable[str]) -> Observed:
    """All that these texts tell, together; nothing was read where there are none."""
    return sum((msgspec.json.decode(text, type=Observed) for text in texts), Observed())


def of_batch(batch: pa.RecordBatch, fates: pa.StringArray) -> Observed:
    """What EVENT columns hold whose fates are these, null of accepted events. A batch has far fewer than 2^20 records,
    so no sum of their costs passes 2^63."""
    cost, click = (_filled(batch.column(name)) for name in ("cost_micros", "is_click"))
    accepted = fates.is_null().to_numpy(zero_copy_only=False)
    newest = pc.max(batch.column("event_ms").filter(fates.is_null())).as_py()
    by_partition = {p: _rows_of(batch, p) for p in pc.unique(batch.column("partition")).to_pylist()}
    return Observed(
        batch.num_rows,
        {fate: _tally(cost, pc.fill_null(pc.equal(fates, fate.value), False).to_numpy(False)) for fate in REFUSED},
        _tally(cost, accepted & (click == 0)),
        _tally(cost, accepted & (click == 1)),
        newest,
        {p: at for p, rows in by_partition.items() if (at := _newest_append(rows)) is not None},
        {p: rows.column("append_ms")[-1].as_py() for p, rows in by_partition.items()},
        {p: rows.column("offset")[-1].as_py() for p, rows in by_partition.items()},
    )


def _filled(column: pa.Array) -> Numbers:
    """The numbers of a column, 0 for what is not there."""
    numbers: Numbers = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
    return numbers


def _tally(cost: Numbers, chosen: NDArray[np.bool_]) -> Tally:
    return Tally(int(chosen.sum()), int(cost[chosen].sum()))


def _rows_of(batch: pa.RecordBatch, partition: int) -> pa.RecordBatch:
    """The records of a partition, by their offsets."""
    rows = batch.select(["partition", "offset", "append_ms", "stamped"])
    return rows.filter(pc.equal(rows.column("partition"), partition)).sort_by("offset")


def _newest_append(rows: pa.RecordBatch) -> int | None:
    """Of the broker's stamps only: a producer's would move what counts as complete."""
    newest: int | None = pc.max(rows.column("append_ms").filter(rows.column("stamped"))).as_py()
    return newest


def _newer(one: Mapping[int, int], other: Mapping[int, int]) -> dict[int, int]:
    return {p: max(held[p] for held in (one, other) if p in held) for p in {**one, **other}}
