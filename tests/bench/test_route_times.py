"""The bench of the console's routes leaves none out that reads what is served."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from fastapi import FastAPI

from bench.database import Filling
from bench.route_times import CAPACITY, questions
from kappa.console.app import router
from kappa.core.installation.settings import Settings

LEFT_OUT = {"", "{page}", "static/{name}", "page/verbs", "data/value", "data/validation", "data/report"}
"""Files, of which two are asked for; names; what there is of a refused record or a replay, and here of none."""


def test_each_route_that_reads_is_asked(tmp_path: Path) -> None:
    paths = FastAPI()
    paths.include_router(router(lambda: Settings(tmp_path), lambda: CAPACITY))
    there = {path.removeprefix("/console/") for path in paths.openapi()["paths"]}
    asked = questions(Filling(10, 2, 5, datetime(2026, 1, 31, tzinfo=UTC)))
    assert {name.split(",")[0] for name in asked} - {"now", "static/now.js"} == there - LEFT_OUT


def test_what_a_person_chooses_is_another_one_each_time() -> None:
    asked = questions(Filling(10, 2, 5, datetime(2026, 1, 31, tzinfo=UTC)))
    for name in ("data/numbers, a client", "data/numbers, an ad", "data/explanation", "data/comparison"):
        first, second = next(asked[name]), next(asked[name])
        assert first != second, name
