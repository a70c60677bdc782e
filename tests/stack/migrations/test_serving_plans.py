"""What a reader of the serving views pays for: the rows of whom it asks for, not those of everybody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from stack.layout import Layout
from tests.great_expectations.gate.desk import CANDIDATE, LIVE, Desk, ad_rows, client_rows

pytestmark = pytest.mark.rig


@pytest.fixture
def desk(parts: Layout) -> Iterator[Desk]:
    """Two versions of both jobs with rows of two clients."""
    rows = ad_rows(range(5))
    with Desk(parts.settings).prepared() as desk:
        for version in (LIVE, CANDIDATE):
            desk.write("ad_ctr", version, rows)
            desk.write("client_spend", version, client_rows(rows))
        yield desk


@pytest.mark.parametrize("view", ["ad_ctr_minute", "client_spend_day"])
def test_a_condition_on_the_client_reaches_the_rows(desk: Desk, view: str) -> None:
    """Nothing is computed for other clients: every access to the rows of a version has the condition."""
    with psycopg.connect(desk.settings.dsn("kappa_reader")) as connection:
        asked = f"explain (format json) select * from serving.{view} where client_id = 'somebody'"
        ((plans,),) = connection.execute(asked).fetchall()
    scans = [node for node in _nodes(plans[0]["Plan"]) if "_minute_v" in node.get("Relation Name", "")]
    assert scans
    assert [scan for scan in scans if "somebody" not in _conditions(scan)] == []


def test_who_asks_for_the_last_hour_reads_no_other_hours(desk: Desk) -> None:
    """Of two thousand minutes: an index finds those asked for."""
    desk.execute(
        "insert into data.ad_ctr_minute select %s, 'c', 'a', timestamptz '2026-01-01' + n * interval '1 minute', "
        "1, 0, 1, 0, 1, 0, 1, 0 from generate_series(1, 2000) n", LIVE,
    )  # fmt: skip
    desk.execute("analyze data.ad_ctr_minute")
    with psycopg.connect(desk.settings.dsn("kappa_reader")) as connection:
        asked = "explain (format json) select * from serving.ad_ctr_minute where window_start >= '2026-01-02 09:00+00'"
        ((plans,),) = connection.execute(asked).fetchall()
    scans = [node for node in _nodes(plans[0]["Plan"]) if "_window_start_idx" in node.get("Index Name", "")]
    assert any("2026-01-02" in scan.get("Index Cond", "") for scan in scans), plans[0]


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", ()):
        yield from _nodes(below)


def _conditions(scan: dict[str, Any]) -> str:
    return " ".join(str(scan.get(kind, "")) for kind in ("Index Cond", "Recheck Cond", "Filter"))
