"""One look as metrics: each has its name, unit and labels from the closed list in `kappa.core.metrics`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family

from kappa.core import metrics
from kappa.core.fates import Fate
from kappa.core.metrics import Kind, Metric
from stack.alerts.findings import cause_of, expected
from stack.monitor.look import PARTS, Look
from stack.monitor.registry import Registry

Labels = tuple[str, ...]
Samples = dict[Labels, float | None]
_COLUMNS = {
    metrics.READ: "read",
    metrics.RESIDUAL: "residual",
    metrics.LAG_RECORDS: "lag_events",
    metrics.LAG_SECONDS: "lag_seconds",
    metrics.COMPLETE: "complete_seconds",
    metrics.COMMITTED: "committed",
    metrics.HEARTBEAT: "beat",
    metrics.EPOCH: "epoch",
    metrics.WATERMARK: "watermark_seconds",
    metrics.SKEW: "skew_seconds",
    metrics.STATE_ROWS: "state_rows",
    metrics.STATE_BYTES: "state_bytes",
}
"""Metrics that are a column of the registry's reading as it stands there."""


def exposition(seen: Look, retention_hours: int, disk_free_mb: int) -> Iterator[Family]:
    """All metrics of one look. What it could not read is not told, and `kappa_registry_up` says so."""
    for metric, samples in _of_stack(seen, retention_hours, disk_free_mb).items():
        yield family(metric, samples)
    if seen.registry is not None:
        for metric, samples in _of_registry(seen.registry, retention_hours * 3600).items():
            yield family(metric, samples)


def family(metric: Metric, samples: Samples) -> Family:
    """One metric with its samples by label values; None is not told."""
    make = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    made = make(metric.name, f"{metric.meaning} ({metric.unit})", labels=metric.labels)
    for labels, value in samples.items():
        if value is not None:
            made.add_metric(labels, float(value))
    return made


def _of_stack(seen: Look, retention_hours: int, disk_free_mb: int) -> dict[Metric, Samples]:
    return {
        metrics.PART_UP: {(part,): float(part not in seen.away) for part in PARTS},
        metrics.PROCESS_UP: {(process.name,): float(process.runs) for process in seen.processes},
        metrics.PROCESS_STARTED: {
            (process.name,): process.started.timestamp() for process in seen.processes if process.runs
        },
        metrics.REGISTRY_UP: {(): float(seen.registry is not None)},
        metrics.RED_LINES: _by_cause(seen.red),
        metrics.EXPECTED: _by_cause(filter(expected(seen), seen.red)),
        metrics.LOOK_SECONDS: {(): seen.took_seconds},
        metrics.DISK_FREE: {(): float(seen.disk.free)},
        metrics.DISK_WANTED: {(): disk_free_mb * 1e6},
        metrics.DISK_SIZE: {(): float(seen.disk.size)},
        metrics.CLOCK: {(): seen.clock_ahead_seconds},
        metrics.RETENTION: {(): retention_hours * 3600.0},
    }


def _by_cause(lines: Iterable[dict[str, Any]]) -> Samples:
    """How many lines there are, by cause and what they are about."""
    found = Counter((cause.value, line["of"]) for line in lines if (cause := cause_of(line)))
    return {key: float(count) for key, count in found.items()}


def _of_registry(registry: Registry, retention_seconds: float) -> dict[Metric, Samples]:
    phases = Counter(replay["phase"] for replay in registry.replays)
    candidates = [candidate for replay in registry.replays for candidate in replay["candidates"]]
    found: dict[Metric, Samples] = {
        metrics.LEASES: {(): registry.counts["leases"]},
        metrics.CHANGES: {(): registry.counts["changes"]},
        metrics.RELEASES: {(): registry.counts["releases"]},
        metrics.APPEND_AHEAD: {(): registry.append_ahead_seconds},
        metrics.HAND_OVER: {(): registry.hand_over_seconds},
        metrics.REPLAYS: {(phase,): float(count) for phase, count in phases.items()},
        metrics.REPLAY_RATE: {_key(candidate): candidate["rate_per_second"] for candidate in candidates},
        metrics.REPLAY_LEFT: {_key(candidate): candidate["eta_seconds"] for candidate in candidates},
        metrics.FATES: {
            (*_key(v), fate.value): float(v[fate.value]) for v in registry.versions for fate in Fate
        },
        metrics.VERSION_INFO: {(*_key(v), v["state"], v["desired"]): 1.0 for v in registry.versions},
    }  # fmt: skip
    for metric, column in _COLUMNS.items():
        found[metric] = {_key(v): v[column] for v in registry.versions}
    for version in registry.versions:
        for metric, value in _told(version, retention_seconds).items():
            found.setdefault(metric, {})[_key(version)] = value
    return found


def _told(version: Mapping[str, Any], retention_seconds: float) -> dict[Metric, float | None]:
    """The metrics of a version that are computed of what was read."""
    unread, read = version["unread_seconds"], version["recent_read"]
    return {
        metrics.SERVES: float(version["serves"]),
        metrics.SLACK: None if unread is None else retention_seconds - unread,
        metrics.BATCH: _thousandth(version["batch_ms"]),
        metrics.DELAY: _thousandth(version["watermark_delay_ms"]),
        metrics.REFUSED_SHARE: version["recent_refused"] / read if read else None,
        metrics.FUTURE_SHARE: version["recent_future"] / read if read else None,
    }


def _thousandth(value: float | None) -> float | None:
    return None if value is None else value / 1000


def _key(version: Mapping[str, Any]) -> Labels:
    return version["job"], str(version["version"])
