"""The plugin in a real api-server: what its plugin manager holds, what it serves, and that no module is there twice."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import httpx
import pytest
from fastapi.routing import APIRoute

from kappa.airflow.plugin import KappaPlugin
from kappa.airflow_api import Airflow
from kappa.airflow_sign_in import embedded, password_of, sign_in
from kappa.code import artifacts
from kappa.core import environment
from kappa.core.spark_environment import search_path
from tests.rigs.api_server import VIEWER, ApiServer, api_server

CHECKOUT = Path(__file__).resolve().parents[4]
PLUGINS = CHECKOUT / "plugins"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("airflow"), CHECKOUT) as started:
        yield started


@pytest.mark.long(minutes=1)
def test_the_plugin_manager_holds_one_plugin_of_the_project_and_no_error(server: ApiServer) -> None:
    airflow = Airflow(embedded(server.settings, "admin"))
    plugins = airflow.ask("to list plugins", "GET", "/api/v2/plugins")["plugins"]
    ours = {one["name"]: one["source"] for one in plugins if "kappa" in str(one)}
    assert ours == {KappaPlugin.name: "$PLUGINS_FOLDER/kappa_plugin.py"}
    assert airflow.ask("to list errors", "GET", "/api/v2/plugins/importErrors")["import_errors"] == []


@pytest.mark.long(minutes=1)
def test_an_api_server_has_no_module_twice_or_under_a_bare_name(server: ApiServer) -> None:
    ours = {name: Path(file) for name, file in server.modules().items() if Path(file).is_relative_to(PLUGINS)}
    assert {"kappa_plugin", "kappa.airflow.plugin"} <= set(ours)
    wrong = {name: str(file) for name, file in ours.items() if name != proper(file)}
    assert wrong == {}


def proper(file: Path) -> str:
    """The one name that a module of the plugins folder has."""
    return ".".join(file.relative_to(PLUGINS).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.long(minutes=1)
def test_which_code_airflow_has_is_told_to_whoever_is_signed_in_and_to_nobody_else(server: ApiServer) -> None:
    told = Airflow(embedded(server.settings, "admin")).ask("to show its code", "GET", "/kappa/code")
    assert told == {"digest": artifacts.checkout_digest(CHECKOUT), "environment": environment.present()}
    assert httpx.get(f"{server.settings.airflow_url}/kappa/code", trust_env=False).status_code == 401


def paths() -> list[str]:
    """Each route below `/kappa`, filled in so that it is reached."""
    from kappa.airflow.routes import app

    given = {"{name}": "console.css", "{page}": "numbers"}
    routes = [one.path for one in app.routes if isinstance(one, APIRoute)]
    found = [reduce(lambda path, part: path.replace(part, given[part]), given, path) for path in routes]
    asked = {
        "/console/data/value": "?partition=0&offset=0", "/console/data/explanation": "?client=c&ad=a&minute=60",
        "/console/data/comparison": "?job=ad_ctr&left=1&right=2",
    }  # fmt: skip
    return [f"/kappa{path}{asked.get(path, '')}" for path in found]


@pytest.mark.long(minutes=2)
def test_every_route_is_for_a_viewer_with_a_token_or_a_cookie_and_for_nobody_else(server: ApiServer) -> None:
    base, opened = server.settings.airflow_url, {200, 503}
    token = sign_in(base, VIEWER, password_of(server.settings, VIEWER)).token
    with httpx.Client(base_url=base, trust_env=False, timeout=60) as client:
        for path in paths():
            assert client.get(path).status_code == 401, path
            for forged in ({"Authorization": "Bearer another"}, {"Cookie": "_token=another"}):
                assert client.get(path, headers=forged).status_code in {401, 403}, path
            signed = client.get(path, headers={"Authorization": f"Bearer {token}"})
            framed = client.get(path, headers={"Cookie": f"_token={token}"})
            assert {signed.status_code, framed.status_code} <= opened, (path, signed.text)
            assert (signed.status_code == 503) == ("/data/" in path), (path, signed.text)
        assert "<h1>Now</h1>" in client.get("/kappa/console/", headers={"Cookie": f"_token={token}"}).text


@pytest.mark.long(minutes=1)
def test_airflow_shows_the_console_in_its_navigation_and_on_dags(server: ApiServer) -> None:
    [plugin] = Airflow(embedded(server.settings, VIEWER)).ask("to list plugins", "GET", "/api/v2/plugins")["plugins"]
    shown = {(view["destination"], view["name"], view["href"]) for view in plugin["external_views"]}
    assert shown == {("nav", "Streams", "kappa/console/"), ("dag", "Streams", "kappa/console/?dag={DAG_ID}")}


def test_a_process_that_loads_the_plugin_does_not_load_what_only_the_api_server_needs() -> None:
    script = "import sys, kappa.airflow.plugin as p; print('fastapi' in sys.modules, p.KappaPlugin().name)"
    command = [sys.executable, "-c", script]
    surroundings = {"PYTHONPATH": search_path(CHECKOUT), "AIRFLOW_HOME": "/nonexistent", "PATH": ""}
    said = subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout.split() == ["False", "kappa"]
