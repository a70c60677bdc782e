"""A real Prometheus with the rules of the checkout, which scrapes a real monitor: alerts fire, and clear."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from kappa.core.installation.settings import Settings
from stack.alerts import prometheus_rules
from stack.alerts.causes import Cause
from stack.layout import Layout
from stack.waiting import until
from tests.observability.test_rules import BUILT, FOLDER
from tests.rigs.small_stack import free_ports
from tests.stack.alerts.test_notifier import standing_still
from tests.stack.monitor.test_monitor import settings, watched

pytestmark = [pytest.mark.rig, pytest.mark.long(minutes=3)]
PROMETHEUS = BUILT / "prometheus"
OFTEN = {"scrape_interval": "5s", "evaluation_interval": "1s"}
"""Instead of 10 s. A scrape may take as long as the time between two, and the monitor some seconds while a part hangs.
For how long something must hold before it is told is as in the rules."""
PATIENCE_SECONDS = 120.0
needs_prometheus = pytest.mark.skipif(
    not PROMETHEUS.exists(), reason="prometheus is not built (observability/README.md)"
)
__all__ = ["settings"]


@contextmanager
def prometheus(folder: Path, watched: Settings) -> Iterator[str]:
    """Prometheus with the configuration and the rules of the checkout, and this one monitor to scrape; its URL."""
    config = yaml.safe_load((FOLDER / "prometheus" / "prometheus.yml").read_text())
    config["global"] = OFTEN
    config["scrape_configs"][0]["static_configs"] = [{"targets": [f"127.0.0.1:{watched.ports.monitor}"]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    shutil.copy(FOLDER / "prometheus" / "rules.yml", folder)
    place = f"127.0.0.1:{free_ports(1)[0]}"
    command = [str(PROMETHEUS), f"--web.listen-address={place}", f"--config.file={folder}/prometheus.yml"]
    with subprocess.Popen([*command, f"--storage.tsdb.path={folder}/data"], stderr=subprocess.DEVNULL) as server:
        try:
            yield f"http://{place}"
        finally:
            server.terminate()


def firing(url: str) -> set[str]:
    """The alerts that fire now; none while it does not answer yet."""
    try:
        with urllib.request.urlopen(f"{url}/api/v1/alerts", timeout=10) as answer:
            told = json.load(answer)["data"]["alerts"]
    except OSError:
        return set()
    return {alert["labels"]["alertname"] for alert in told if alert["state"] == "firing"}


@needs_prometheus
@pytest.mark.parametrize(("part", "cause"), [("postgres", Cause.POSTGRES), ("kafka", Cause.KAFKA)])
def test_who_is_away_is_told_while_it_is_away(
    parts: Layout, settings: Settings, tmp_path: Path, part: str, cause: Cause
) -> None:
    wanted = prometheus_rules.alert_name(cause)
    with watched(settings, parts), prometheus(tmp_path, settings) as url:
        assert until(lambda: _is_scraped(url), PATIENCE_SECONDS, 1.0), "nothing was scraped"
        assert wanted not in firing(url)
        with standing_still(parts, part):
            assert until(lambda: wanted in firing(url), PATIENCE_SECONDS, 1.0), firing(url)
        assert until(lambda: wanted not in firing(url), PATIENCE_SECONDS, 1.0), f"{wanted} did not clear"


@needs_prometheus
def test_that_nobody_watches_is_told_once_the_monitor_has_gone(
    parts: Layout, settings: Settings, tmp_path: Path
) -> None:
    wanted = prometheus_rules.alert_name("monitor")
    with prometheus(tmp_path, settings) as url:
        assert until(lambda: wanted in firing(url), PATIENCE_SECONDS, 1.0), firing(url)
        with watched(settings, parts):
            assert until(lambda: wanted not in firing(url), PATIENCE_SECONDS, 1.0), f"{wanted} did not clear"


def _is_scraped(url: str) -> bool:
    """Whether it has read the monitor."""
    try:
        with urllib.request.urlopen(f"{url}/api/v1/query?query=kappa_registry_up", timeout=10) as answer:
            return bool(json.load(answer)["data"]["result"])
    except OSError:
        return False
