"""What a batch was seen to read, counted before the aggregate: one side of double entry."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kappa.core.fates import REFUSED, Fate


@dataclass(frozen=True)
class Tally:
    """A number of records and the sum of their cost_micros."""

    records: int = 0
    micros: int = 0


@dataclass(frozen=True)
class Observed:
    """A batch before its aggregate: records read, refused by fate, accepted by kind, and how far they reach.

    `newest_event_ms` is of accepted events; `newest_append_ms` is per partition, of records that the broker stamped;
    `last_append_ms` is that of the last record per partition, whoever stamped it.
    """

    read: int
    refused: Mapping[Fate, Tally]
    impressions: Tally
    clicks: Tally
    newest_event_ms: int | None
    newest_append_ms: Mapping[int, int]
    last_append_ms: Mapping[int, int] = field(default_factory=dict)

    @property
    def accepted(self) -> int:
        """Records that no rule refused on their own account."""
        return self.impressions.records + self.clicks.records


def from_metrics(metrics: Mapping[str, Any]) -> Observed:
    """The observation of `transforms.fates.observed` as a value; no metrics mean that nothing was read."""
    return Observed(
        read=int(metrics.get("read") or 0),
        refused={fate: _tally(metrics, fate.value) for fate in REFUSED},
        impressions=_tally(metrics, "impressions"),
        clicks=_tally(metrics, "clicks"),
        newest_event_ms=metrics.get("newest_event_ms"),
        newest_append_ms=_by_partition(metrics, "newest_append_ms_"),
        last_append_ms=_by_partition(metrics, "last_append_ms_"),
    )


def _by_partition(metrics: Mapping[str, Any], prefix: str) -> dict[int, int]:
    """The metrics that are named after a partition, where there is one."""
    held = {name: value for name, value in metrics.items() if name.startswith(prefix) and value is not None}
    return {int(name.removeprefix(prefix)): int(value) for name, value in held.items()}


def of_running_batch(query: Any, name: str) -> Observed:
    """What the query's running batch observed; to be called once its one action is over.

    It reads the last execution of the JVM's query: no second pass over the data, no listener to wait for. Where a stage
    was run again, since an executor was lost with its output, its records are in it twice: see `ledger.CountedTwice`.
    """
    handle = query._jsq
    execution = handle.streamingQuery() if hasattr(handle, "streamingQuery") else handle
    found = execution.lastExecution().observedMetrics().iterator()
    while found.hasNext():
        entry = found.next()
        if entry._1() == name:
            return from_metrics(json.loads(entry._2().json()))
    return from_metrics({})


def _tally(metrics: Mapping[str, Any], name: str) -> Tally:
    return Tally(int(metrics.get(name) or 0), int(metrics.get(f"{name}_micros") or 0))
