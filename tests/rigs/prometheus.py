"""A real Prometheus with the configuration and the rules of the checkout, which scrapes one monitor."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from stack.provisioning import prometheus as building
from tests.rigs.small_stack import free_ports

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "observability" / "prometheus"
BUILT = building.folder(ROOT, os.environ)
PROMETHEUS = BUILT / "prometheus"
NOT_BUILT = "prometheus is not built (observability/README.md)"


@contextmanager
def scraping(folder: Path, monitor_port: int, intervals: Mapping[str, str] | None = None) -> Iterator[str]:
    """Its URL while it runs, with its data in the folder; `intervals` in place of those of the configuration."""
    config = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    config["global"] = {**config["global"], **(intervals or {})}
    config["scrape_configs"][0]["static_configs"] = [{"targets": [f"127.0.0.1:{monitor_port}"]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    shutil.copy(FOLDER / "rules.yml", folder)
    place = f"127.0.0.1:{free_ports(1)[0]}"
    command = [str(PROMETHEUS), f"--web.listen-address={place}", f"--config.file={folder}/prometheus.yml"]
    with subprocess.Popen([*command, f"--storage.tsdb.path={folder}/data"], stderr=subprocess.DEVNULL) as server:
        try:
            yield f"http://{place}"
        finally:
            server.terminate()


def firing(url: str) -> set[str]:
    """The alerts that fire now; none while it does not answer yet."""
    told = _asked(url, "alerts").get("alerts", [])
    return {alert["labels"]["alertname"] for alert in told if alert["state"] == "firing"}


def has_scraped(url: str) -> bool:
    """Whether it has read the monitor."""
    return bool(_asked(url, "query?query=kappa_registry_up").get("result"))


def _asked(url: str, what: str) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(f"{url}/api/v1/{what}", timeout=10) as answer:
            data: dict[str, Any] = json.load(answer)["data"]
    except OSError:
        return {}
    return data
