"""What a driver tells Prometheus of itself, at an endpoint of its own; without one it works all the same."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from jobs.sinks.batch_sink import Committed
from kappa.core import metrics
from kappa.core.installation.addresses import DRIVER_PORTS, Metrics
from kappa.core.metrics import Kind, Metric
from kappa.core.versions import Version

logger = logging.getLogger("kappa.metrics")


class DriverMetrics(Collector):
    """The metrics of one driver. `phases` are those of its newest batch, in ms; `queries` and `evictions` how many
    there were. What it committed, what is unread and whether it is heard is asked at each scrape."""

    def __init__(
        self,
        version: Version,
        committed: Callable[[], Committed],
        unread: Callable[[], int | None],
        is_heard: Callable[[], bool],
    ) -> None:
        self._labels = (version.job, str(version.version))
        self._committed, self._unread, self._is_heard = committed, unread, is_heard
        self.phases: Mapping[str, int] = {}
        self.queries, self.evictions = 0, 0

    def collect(self) -> Iterator[Family]:
        """The metrics as they are now; what is not known yet is not told."""
        at_ms = self._committed().at_ms
        yield self._family(metrics.DRIVER_PHASE, {phase: ms / 1000 for phase, ms in self.phases.items()})
        yield self._family(metrics.DRIVER_COMMITTED, {} if at_ms is None else {None: at_ms / 1000})
        yield self._family(metrics.DRIVER_LAG, {} if (unread := self._unread()) is None else {None: unread})
        yield self._family(metrics.DRIVER_HEARD, {None: self._is_heard()})
        yield self._family(metrics.DRIVER_QUERIES, {None: self.queries})
        yield self._family(metrics.DRIVER_EVICTIONS, {None: self.evictions})

    def _family(self, metric: Metric, values: Mapping[Any, float]) -> Family:
        """One metric; a value's key is its last label, None where there is no more than job and version."""
        make = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
        made = make(metric.name, f"{metric.meaning} ({metric.unit})", labels=metric.labels)
        for last, value in values.items():
            made.add_metric([*self._labels, *([] if last is None else [last])], float(value))
        return made


@contextmanager
def served(where: Metrics, told: DriverMetrics) -> Iterator[int | None]:
    """They can be read while the body runs, at the port that this gives: the first free one. None where no port is
    free, or wanted: no driver ends for want of one."""
    registry = CollectorRegistry()
    registry.register(told)
    ports = range(where.first_driver_port, where.first_driver_port + DRIVER_PORTS) if where.first_driver_port else ()
    for port in ports:
        try:
            server, thread = start_http_server(port, where.address, registry)
        except OSError:
            continue
        logger.info("metrics are served at %s:%d", where.address, port)
        try:
            yield port
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
        return
    logger.info("no metrics are served: no port is free, or wanted")
    yield None
