"""The batches of a catch-up as the registry and the checkpoint have them, and the rates that follow."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.live import Database, Version
from kappa.core.installation.settings import Settings
from kappa.core.store.location import Location

_BATCHES = """
select batch_id, coalesce((select folder from ops.generations g where (g.job, g.version, g.generation)
    = (b.job, b.version, b.generation)), 'g' || generation), read, rows_changed,
    extract(epoch from committed_at)::float8 * 1000
from ops.batches b where job = %s and version = %s and committed_at > to_timestamp(%s::float8 / 1000) and read > 0
order by committed_at
"""


@dataclass(frozen=True)
class Batch:
    """A committed batch: records read, rows changed, when it was committed (epoch ms)."""

    batch_id: int
    folder: str
    read: int
    rows_changed: int
    committed_ms: float


def since(database: Database, version: Version, start_ms: float) -> list[Batch]:
    """The version's batches with records that were committed after `start_ms`, in order."""
    return [Batch(*row) for row in database.rows(_BATCHES, version.job, version.version, start_ms)]


def planned_ms(settings: Settings, version: Version, batch: Batch) -> float | None:
    """When Spark planned the batch (epoch ms), from the checkpoint's offset log; None where that is gone."""
    of_version = settings.checkpoints(version.job, version.version)
    return _planned_ms(of_version / batch.folder / "offsets" / str(batch.batch_id))


def rates(batches: Sequence[Batch], begun_ms: float) -> dict[str, Any]:
    """Seconds, records/s and rows per record from `begun_ms` on; `warm` leaves the first batch out.

    Warm is from the first commit to the last one; None where there is but one batch.
    """
    read = sum(batch.read for batch in batches)
    seconds = (batches[-1].committed_ms - begun_ms) / 1000
    warm = sum(batch.read for batch in batches[1:])
    warm_seconds = (batches[-1].committed_ms - batches[0].committed_ms) / 1000
    return {
        "batches": len(batches),
        "records": read,
        "seconds": round(seconds, 2),
        "records_per_second": round(read / seconds),
        "warm_seconds": round(warm_seconds, 2),
        "warm_records_per_second": round(warm / warm_seconds) if warm else None,
        "rows_changed_per_record": round(sum(batch.rows_changed for batch in batches) / read, 4),
    }


def _planned_ms(file: Location) -> float | None:
    """The second line of an offsets file holds `batchTimestampMs`."""
    try:
        return float(json.loads(file.read().decode().splitlines()[1])["batchTimestampMs"])
    except (OSError, IndexError, KeyError, ValueError):
        return None
