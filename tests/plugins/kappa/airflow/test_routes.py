"""What the api-server serves below `/kappa`: no route without a sign-in, no page of the console without the right to
look at our DAGs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from airflow.api_fastapi.core_api.security import get_user
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from kappa.airflow.plugin import KappaPlugin
from kappa.airflow.routes import MAY_LOOK, app
from kappa.console.app import HEADERS

ROUTES = [route for route in app.routes if isinstance(route, APIRoute)]


def asked_by(dependant: Dependant) -> Iterator[object]:
    """All that is called before a route is."""
    for each in dependant.dependencies:
        yield each.call
        yield from asked_by(each)


def test_the_application_has_no_route_but_those_that_are_looked_at_here() -> None:
    """A mount or a page of FastAPI's own would have no dependency."""
    assert app.routes == ROUTES
    assert len(ROUTES) > 10


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
def test_no_route_answers_whoever_is_not_signed_in(route: APIRoute) -> None:
    assert get_user in asked_by(route.dependant)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
def test_the_console_is_for_those_who_may_look_at_our_dags_and_changes_nothing(route: APIRoute) -> None:
    assert (MAY_LOOK in asked_by(route.dependant)) == route.path.startswith("/console/")
    assert route.methods == {"GET"}


def test_the_console_stands_in_the_navigation_and_on_dags() -> None:
    [mounted] = KappaPlugin().fastapi_apps
    views = KappaPlugin.external_views
    assert {view["destination"] for view in views} == {"nav", "dag"}
    assert all(f"/{view['href']}".startswith(f"{mounted['url_prefix']}/console/") for view in views)
    assert len({view["url_route"] for view in views}) == len(views)
    assert "frame-ancestors 'self'" in HEADERS["Content-Security-Policy"]
