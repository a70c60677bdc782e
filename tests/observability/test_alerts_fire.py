"""A real Prometheus with the rules of the checkout, which scrapes a real monitor: alerts fire, and clear."""

from __future__ import annotations

from pathlib import Path

import pytest

from kappa.core.installation.settings import Settings
from kappa.status.causes import Cause
from stack.alerts import prometheus_rules
from stack.layout import Layout
from stack.waiting import until
from tests.rigs.prometheus import NOT_BUILT, PROMETHEUS, firing, has_scraped, scraping
from tests.rigs.small_stack import standing_still
from tests.stack.monitor.test_monitor import settings, watched

pytestmark = [
    pytest.mark.rig,
    pytest.mark.long(minutes=3),
    pytest.mark.skipif(not PROMETHEUS.exists(), reason=NOT_BUILT),
]
OFTEN = {"scrape_interval": "5s", "evaluation_interval": "1s"}
"""Instead of 10 s. A scrape may take as long as the time between two, and the monitor some seconds while a part hangs.
For how long something must hold before it is told is as in the rules."""
PATIENCE_SECONDS = 120.0
__all__ = ["settings"]


@pytest.mark.parametrize(("part", "cause"), [("postgres", Cause.POSTGRES), ("kafka", Cause.KAFKA)])
def test_who_is_away_is_told_while_it_is_away(
    parts: Layout, settings: Settings, tmp_path: Path, part: str, cause: Cause
) -> None:
    wanted = prometheus_rules.alert_name(cause)
    with watched(settings, parts), scraping(tmp_path, settings.ports.monitor, OFTEN) as url:
        assert until(lambda: has_scraped(url), PATIENCE_SECONDS, 1.0), "nothing was scraped"
        assert wanted not in firing(url)
        with standing_still(parts, part):
            assert until(lambda: wanted in firing(url), PATIENCE_SECONDS, 1.0), firing(url)
        assert until(lambda: wanted not in firing(url), PATIENCE_SECONDS, 1.0), f"{wanted} did not clear"


def test_that_nobody_watches_is_told_once_the_monitor_has_gone(
    parts: Layout, settings: Settings, tmp_path: Path
) -> None:
    wanted = prometheus_rules.alert_name("monitor")
    with scraping(tmp_path, settings.ports.monitor, OFTEN) as url:
        assert until(lambda: wanted in firing(url), PATIENCE_SECONDS, 1.0), firing(url)
        with watched(settings, parts):
            assert until(lambda: wanted not in firing(url), PATIENCE_SECONDS, 1.0), f"{wanted} did not clear"
