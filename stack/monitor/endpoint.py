"""The endpoint that metrics are read from: one look for all who scrape, in Prometheus' text format."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Thread
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from kappa.core.installation.settings import Settings
from stack.monitor.exposition import exposition
from stack.monitor.look import Looks
from stack.port_check import Use, taken


class LooksCollector(Collector):
    """What is read at each scrape: the newest look, which is a few seconds old at most."""

    def __init__(self, looks: Looks, retention_hours: int, disk_free_mb: int) -> None:
        self._looks, self._limits = looks, (retention_hours, disk_free_mb)

    def collect(self) -> Iterable[Metric]:
        """The metrics of one look."""
        return exposition(self._looks.newest(), *self._limits)


@contextmanager
def serving(settings: Settings, looks: Looks) -> Iterator[None]:
    """Metrics are served at the address and port of the settings while the body runs. Raises PortTaken; OSError where
    the address is not one of this host's."""
    registry = CollectorRegistry()
    registry.register(LooksCollector(looks, settings.topic.retention_hours, settings.alerts.disk_free_mb))
    server, thread = _listening(settings, registry)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _listening(settings: Settings, registry: CollectorRegistry) -> tuple[WSGIServer, Thread]:
    try:
        return start_http_server(settings.ports.monitor, settings.metrics.address, registry)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise taken(Use("monitor", "monitor", settings.ports.monitor)) from error
