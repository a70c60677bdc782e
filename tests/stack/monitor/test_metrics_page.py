"""docs/metrics.md is made of the closed list."""

from __future__ import annotations

from pathlib import Path

from kappa.core.metrics import METRICS
from stack.monitor.metrics_page import page

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_is_the_list() -> None:
    assert (ROOT / "docs" / "metrics.md").read_text() == page()


def test_each_metric_is_on_it_once() -> None:
    rows = [line.split("`")[1] for line in page().splitlines() if line.startswith("| `")]
    assert rows == [metric.name for metric in METRICS]
