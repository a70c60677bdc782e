"""The endpoint that metrics are read from, as Prometheus takes them, and findings, as JSON: one look for all."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIServer
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import msgspec
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from kappa.core.installation.settings import Settings
from kappa.status.causes import MEANINGS, readers
from stack.alerts.incidents import Finding
from stack.alerts.judge import Judge, Judgement
from stack.alerts.wording import next_command
from stack.monitor.exposition import exposition
from stack.monitor.look import Looks
from stack.port_check import Use, taken

FINDINGS = "/findings"


class LooksCollector(Collector):
    """What is read at each scrape: the newest look, which is a few seconds old at most."""

    def __init__(self, looks: Looks, retention_hours: int, disk_free_mb: int) -> None:
        self._looks, self._limits = looks, (retention_hours, disk_free_mb)

    def collect(self) -> Iterable[Metric]:
        """The metrics of one look."""
        return exposition(self._looks.newest(), *self._limits)


@contextmanager
def serving(settings: Settings, looks: Looks, judge: Judge) -> Iterator[None]:
    """Metrics and findings are served at the address and port of the settings while the body runs. Raises PortTaken;
    OSError where the address is not one of this host's."""
    registry = CollectorRegistry()
    registry.register(LooksCollector(looks, settings.topic.retention_hours, settings.alerts.disk_free_mb))
    server, thread = _listening(settings, registry)
    metrics = server.get_app()
    assert metrics is not None
    server.set_app(beside(metrics, lambda: present(judge.judge(looks.newest()), settings.is_embedded)))
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def beside(metrics: WSGIApplication, told: Callable[[], dict[str, Any]]) -> WSGIApplication:
    """The application that answers FINDINGS with what is told, as JSON, and all else as `metrics` does."""

    def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] != FINDINGS:
            return metrics(environ, start)
        if environ["REQUEST_METHOD"] != "GET":
            start("405 Method Not Allowed", [("Allow", "GET")])
            return [b""]
        body = msgspec.json.encode(told())
        start("200 OK", [("Content-Type", "application/json"), ("Cache-Control", "no-store")])
        return [body]

    return answer


def present(judged: Judgement, embedded: bool) -> dict[str, Any]:
    """{"at", "findings": [{"cause", "title", "subject", "since", "detail", "readers", "runbook", "next"}], "unknown":
    [cause]}, as docs/alerts.md has it; times as text."""
    shown = [_shown(finding, since, embedded) for finding, since in judged.dated()]
    return {"at": _time(judged.at), "findings": shown, "unknown": sorted(judged.unknown)}


def _shown(finding: Finding, since: float, embedded: bool) -> dict[str, str]:
    meaning = MEANINGS[finding.cause]
    return {
        "cause": finding.cause,
        "title": meaning.title,
        "subject": finding.subject,
        "since": _time(since),
        "detail": finding.what,
        "readers": readers(finding.cause, finding.serves),
        "runbook": meaning.runbook,
        "next": next_command(finding.cause, finding.subject, embedded),
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _listening(settings: Settings, registry: CollectorRegistry) -> tuple[WSGIServer, Thread]:
    try:
        return start_http_server(settings.ports.monitor, settings.metrics.address, registry)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise taken(Use("monitor", "monitor", settings.ports.monitor)) from error
