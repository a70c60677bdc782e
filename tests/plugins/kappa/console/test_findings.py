"""What the page *Now* is told by the monitor: what the registry does not know, or that the monitor does not answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from kappa.console import findings
from kappa.console.findings import MonitorSilent
from kappa.core.installation.addresses import Metrics
from kappa.core.installation.embedded import Ports
from kappa.core.installation.settings import Settings


def finding(cause: str) -> dict[str, str]:
    return {"cause": cause, "title": "t", "subject": "", "since": "2026-09-21T14:12:50+00:00", "detail": "d",
            "readers": "r", "runbook": "b", "next": "n"}  # fmt: skip


class Monitor:
    """One on loopback that answers with this."""

    body: bytes = b""


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """An installation whose monitor answers with Monitor.body."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/findings" else 404)
            self.end_headers()
            self.wfile.write(Monitor.body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield Settings(tmp_path / "state", ports=replace(Ports(), monitor=server.server_port))
        server.shutdown()
        thread.join()


def told(*causes: str) -> None:
    document: dict[str, Any] = {"at": "2026-09-21T14:13:20+00:00", "findings": list(map(finding, causes))}
    Monitor.body = json.dumps({**document, "unknown": ["backlog"]}).encode()


def test_what_the_registry_shows_as_a_red_line_or_a_question_is_not_shown_twice(settings: Settings) -> None:
    told("airflow", "silent", "disk", "approval", "retention", "backlog")
    assert findings.read(settings)["findings"] == [finding("airflow"), finding("disk"), finding("backlog")]


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"findings": 7}', b'{"findings": [{"cause": "disk"}]}'])
def test_another_program_at_its_address_is_no_monitor(settings: Settings, body: bytes) -> None:
    Monitor.body = body
    with pytest.raises(MonitorSilent, match="the monitor does not answer"):
        findings.read(settings)


def test_a_monitor_that_is_away_is_said_to_be(tmp_path: Path) -> None:
    away = Settings(tmp_path, ports=replace(Ports(), monitor=1))
    with pytest.raises(
        MonitorSilent, match=r"the monitor does not answer at http://127\.0\.0\.1:1 .*\./kappa up"
    ) as refused:
        findings.read(away)
    assert findings.told(away) == {"silent": str(refused.value)}


def test_of_an_installation_elsewhere_the_settings_say_where_it_is(settings: Settings, tmp_path: Path) -> None:
    told("kafka")
    elsewhere = Settings(tmp_path, postgres=replace(settings.postgres, host="db.example.com"))
    with pytest.raises(MonitorSilent, match=r"metrics\.url"):
        findings.read(elsewhere)
    url = f"http://127.0.0.1:{settings.ports.monitor}"
    assert findings.read(replace(elsewhere, metrics=Metrics(url=url)))["findings"] == [finding("kafka")]
