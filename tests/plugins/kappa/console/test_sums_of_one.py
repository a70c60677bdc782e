"""The numbers of one client, or of one ad, are added up without reading the rows of all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bench.database import Filling, fill
from kappa.console import sums
from kappa.console.database import Database
from kappa.core.installation.settings import Settings
from tests.rigs.rig import TEMPLATE, Rig, copy_database

pytestmark = pytest.mark.rig
MANY = Filling(ads=2_000, clients=200, minutes=60, newest=datetime(2026, 1, 31, 12, 0, tzinfo=UTC))


class Explaining:
    """Asks for the plan of each statement in place of its rows; `unwanted`: rows that were read for nothing."""

    def __init__(self, connection: Any) -> None:
        self._connection, self.unwanted = connection, 0

    def execute(self, statement: str, values: Mapping[str, object], prepare: bool) -> Explaining:
        """Run it, and keep what its plan tells."""
        explained = self._connection.execute(f"explain (analyze, format json) {statement}", values, prepare=prepare)
        (row,) = explained.fetchall()
        for node in _nodes(row["QUERY PLAN"][0]["Plan"]):
            self.unwanted += node.get("Rows Removed by Filter", 0)
        return self

    def fetchall(self) -> list[Any]:
        """No rows."""
        return []


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", ()):
        yield from _nodes(below)


@pytest.fixture(scope="module")
def many(cases: Rig) -> Settings:
    """A database with a row of each ad in every minute."""
    settings = replace(cases.parts.settings, database="many_ads")
    copy_database(settings, TEMPLATE, settings.database)
    fill(settings, "ad_ctr", 1, MANY)
    return settings


@pytest.mark.parametrize("only", [{"client_id": "client-7"}, {"client_id": "client-7", "ad_id": "ad-7"}], ids=len)
def test_no_row_of_another_one_is_read(many: Settings, only: dict[str, str]) -> None:
    with Database(many).reading() as connection:
        asked = Explaining(connection)
        rows = sums.serving(connection, "ad_ctr", MANY.newest, MANY.minutes, only)
        rows.by_minute(asked)  # type: ignore[arg-type]
        rows.ranked(asked, ["client_id", "ad_id"], 20)  # type: ignore[arg-type]
    assert asked.unwanted == 0
