"""The health check of Airflow's containers: by what the api-server says of each part."""

from __future__ import annotations

import pytest

from stack.containers import health

TOLD = {"metadatabase": {"status": "healthy"}, "scheduler": {"status": "unhealthy"}, "triggerer": {"status": None}}


@pytest.mark.parametrize(
    ("part", "well"), [("metadatabase", True), ("scheduler", False), ("triggerer", False), ("dag_processor", False)]
)
def test_a_part_is_well_if_the_api_server_says_so(part: str, well: bool) -> None:
    assert health.well(TOLD, part) is well


def test_an_api_server_that_is_away_is_not_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "URL", "http://127.0.0.1:1/")
    assert health.main("metadatabase") == 1
