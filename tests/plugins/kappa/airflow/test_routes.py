"""What the api-server serves below `/kappa`: no route without a sign-in, no page of the console without the right to
look at our DAGs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from airflow.api_fastapi.auth.managers.models.resource_details import DagDetails
from airflow.api_fastapi.core_api import security
from airflow.api_fastapi.core_api.security import get_user
from airflow.models.dag import DagModel
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from kappa.airflow.plugin import KappaPlugin
from kappa.airflow.routes import MAY_LOOK, app
from kappa.console.app import HEADERS
from kappa.core.verb_steps import Verb

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


class Manager:
    """Airflow's auth manager, as far as it decides about DAGs: whoever is signed in may look at these and no others."""

    def __init__(self, *dags: str) -> None:
        self.dags = dags

    def is_authorized_dag(self, *, method: str, details: DagDetails, user: str, **_: object) -> bool:
        """Whether this one may."""
        return (method, user) == ("GET", "ada") and details.id in self.dags


@pytest.fixture
def signed_in(monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """What asks as somebody who is signed in; the right comes from the Manager that a test puts in."""
    monkeypatch.setitem(app.dependency_overrides, get_user, lambda: "ada")
    monkeypatch.setattr(DagModel, "get_team_name", lambda dag_id: None)
    return TestClient(app, raise_server_exceptions=False)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
def test_whoever_is_signed_in_without_the_right_to_our_dags_is_refused_by_each_route_of_the_console(
    signed_in: TestClient, monkeypatch: pytest.MonkeyPatch, route: APIRoute
) -> None:
    monkeypatch.setattr(security, "get_auth_manager", lambda: Manager("another_dag"))
    answer = signed_in.get(route.path.format(name="console.css", page="numbers"))
    if route.path.startswith("/console/"):
        assert (answer.status_code, answer.json()) == (403, {"detail": "Forbidden"})
        assert answer.headers.items() >= {name.lower(): value for name, value in HEADERS.items()}.items()
    else:
        assert answer.status_code == 200


def test_the_right_to_the_dag_that_repairs_is_the_one_that_opens_the_console(
    signed_in: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(security, "get_auth_manager", lambda: Manager(Verb.REPAIR.dag_id))
    assert "<h1>Now</h1>" in signed_in.get("/console/").text


def test_the_console_stands_in_the_navigation_and_on_dags() -> None:
    [mounted] = KappaPlugin().fastapi_apps
    views = KappaPlugin.external_views
    assert {view["destination"] for view in views} == {"nav", "dag"}
    assert all(f"/{view['href']}".startswith(f"{mounted['url_prefix']}/console/") for view in views)
    assert len({view["url_route"] for view in views}) == len(views)
    assert "frame-ancestors 'self'" in HEADERS["Content-Security-Policy"]
