"""The alert rules and the dashboard: made of the closed lists, with metrics of theirs only, and doing as they say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from kappa.core.metrics import EPOCH, METRICS
from kappa.status.causes import Cause
from stack.alerts import prometheus_rules
from tests.rigs.prometheus import BUILT

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "observability"
RULES = FOLDER / "prometheus" / "rules.yml"
DASHBOARD = json.loads((FOLDER / "grafana" / "dashboard.json").read_text())
KNOWN = {metric.name for metric in METRICS}
NAME = re.compile(r"\bkappa_\w+")
PROMTOOL = shutil.which("promtool", path=f"{BUILT}{os.pathsep}{os.environ.get('PATH', os.defpath)}")


def expressions(value: Any) -> Iterator[str]:
    """Each expression of a dashboard."""
    if isinstance(value, dict):
        yield from ([value["expr"]] if "expr" in value else [])
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from expressions(each)


def test_the_rules_are_made_of_the_causes() -> None:
    assert RULES.read_text() == prometheus_rules.file()
    assert "{job}" not in RULES.read_text(), "a placeholder says nothing to whoever is paged"
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    assert {rule["labels"]["cause"] for rule in group["rules"]} == {*Cause, "monitor", "restarts"}


def test_the_rules_name_metrics_of_the_list_only() -> None:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    named = {name for rule in group["rules"] for name in NAME.findall(rule["expr"])}
    assert named
    assert named - KNOWN == set()


def test_the_dashboard_shows_each_metric_of_the_list_and_no_other() -> None:
    named = {name for expression in expressions(DASHBOARD) for name in NAME.findall(expression)}
    assert named == KNOWN


def test_epochs_are_not_called_starts() -> None:
    """A stop, a repair and the end of a launch raise the epoch too: one restart is up to three of them."""
    (title,) = (panel["title"] for panel in DASHBOARD["panels"] if EPOCH.name in " ".join(expressions(panel)))
    for said in (title, EPOCH.unit, EPOCH.meaning):
        assert "epoch" in said.lower(), said
    assert "no count of starts" in EPOCH.meaning


def test_each_rule_has_a_test() -> None:
    tests = (FOLDER / "prometheus" / "rules_test.yml").read_text()
    fired = set(re.findall(r'alertname="(Kappa\w+)"', tests))
    assert fired == {prometheus_rules.alert_name(cause) for cause in (*Cause, "monitor", "restarts")}


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not built (observability/README.md): rules are not run")
@pytest.mark.parametrize("words", [("check", "rules", "rules.yml"), ("test", "rules", "rules_test.yml"),
                                   ("check", "config", "prometheus.yml")], ids=" ".join)  # fmt: skip
def test_promtool_agrees(words: tuple[str, ...]) -> None:
    done = subprocess.run([str(PROMTOOL), *words], cwd=FOLDER / "prometheus", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
