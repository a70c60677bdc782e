"""What is wrong now is served as JSON beside the metrics, judged also where nobody is to be told."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kappa.core.installation.embedded import Ports
from kappa.core.installation.settings import Settings
from stack.alerts.judge import Judge
from stack.monitor import endpoint
from stack.monitor.look import Look, Looks
from stack.monitor.registry import Registry
from tests.rigs.small_stack import free_ports
from tests.stack.alerts.watch import NIGHT, RED


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (port,) = free_ports(1)
    return Settings(tmp_path, ports=replace(Ports(), monitor=port))


@pytest.fixture
def url(settings: Settings) -> Iterator[str]:
    """Where a monitor is served whose look finds a driver that does not report."""
    counts = {"leases": 0, "changes": 0, "releases": 0}
    seen: Look = replace(RED, at=NIGHT, registry=Registry(counts=counts))
    judge = Judge(settings.alerts.disk_free_mb, settings.airflow_url)
    with endpoint.serving(settings, Looks(lambda: seen), judge):
        yield f"http://127.0.0.1:{settings.ports.monitor}"


def asked(url: str, method: str = "GET") -> tuple[str, bytes]:
    question = urllib.request.Request(url, method=method)
    with urllib.request.urlopen(question, timeout=10) as answer:
        return str(answer.headers["Content-Type"]), answer.read()


def test_each_finding_says_since_when_what_it_means_and_what_to_do(url: str) -> None:
    kind, body = asked(f"{url}/findings")
    told: dict[str, Any] = json.loads(body)
    assert kind == "application/json"
    assert told == {
        "at": "2026-09-21T14:13:20+00:00",
        "findings": [
            {
                "cause": "silent",
                "title": "no driver reports",
                "subject": "ad_ctr v1",
                "since": "2026-09-21T14:12:50+00:00",
                "detail": "ad_ctr v1 silent: wanted running, but no heartbeat for 30 s",
                "readers": "What is served stays right and grows old.",
                "runbook": "JOB vN silent: wanted running, but no heartbeat for 30 s",
                "next": "./kappa repair ad_ctr --dry-run",
            }
        ],
        "unknown": ["backlog"],
    }


def test_metrics_are_where_they_were(url: str) -> None:
    kind, body = asked(f"{url}/metrics")
    assert kind.startswith("text/plain")
    assert b'\nkappa_red_lines{cause="silent",of="ad_ctr v1"} 1.0' in body


def test_nothing_else_can_be_asked_of_it(url: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="405"):
        asked(f"{url}/findings", "POST")
