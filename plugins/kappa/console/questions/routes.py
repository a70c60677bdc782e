"""The routes of what is shown beside a question; the answer itself is given to Airflow's own API, by the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from kappa.console.questions import report
from kappa.core.store.location import Location

if TYPE_CHECKING:
    from kappa.console.app import Readers

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'self'; sandbox"
"""Of a report, whose styles stand in it: nothing runs in it, and it is of no origin."""


def add(routes: APIRouter, readers: Readers, store: Callable[[], Location]) -> None:
    """Add them; `store` is the one in which validations leave their files, and is asked when one is read."""

    @routes.get("/data/validation")
    def validation(replay: UUID) -> Response:
        return readers.told(("validation", replay), lambda database: report.read(database, store(), replay), 5)

    @routes.get("/data/report")
    def whole(replay: UUID) -> Response:
        held = readers.snapshots.get(("report", replay), lambda: report.page(readers.database, store(), replay))
        return Response(held.value, media_type="text/html", headers={"Content-Security-Policy": POLICY})
