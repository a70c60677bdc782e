"""A page of the bench asks for what a page of the console asks for, as often."""

from __future__ import annotations

import re
from pathlib import Path

from bench.open_pages import ROUTES

NOW = (Path(__file__).resolve().parents[2] / "plugins" / "kappa" / "console" / "static" / "now.js").read_text()


def test_routes_and_intervals_are_those_of_the_page() -> None:
    asked = {route: int(ms) / 1000 for ms, route in re.findall(r'every\((\d+), \(\) => "([\w/]+)"', NOW)}
    beside = {name: int(ms) / 1000 for name, ms in re.findall(r"setInterval\((lookAt\w+), (\d+)\)", NOW)}
    assert asked | {"data/capacity": beside["lookAtCluster"], "data/findings": beside["lookAtParts"]} == ROUTES
