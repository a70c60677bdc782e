"""The plugin in a real api-server: what its plugin manager holds, what it serves, and that no module is there twice."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from kappa.airflow.plugin import KappaPlugin
from kappa.airflow_api import Airflow
from kappa.airflow_sign_in import embedded
from kappa.code import artifacts
from kappa.core import environment
from kappa.core.spark_environment import search_path
from tests.rigs.api_server import VIEWER, ApiServer

CHECKOUT = Path(__file__).resolve().parents[4]
PLUGINS = CHECKOUT / "plugins"


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


@pytest.mark.long(minutes=1)
def test_airflow_shows_the_console_in_its_navigation_and_on_dags(server: ApiServer) -> None:
    [plugin] = Airflow(embedded(server.settings, VIEWER)).ask("to list plugins", "GET", "/api/v2/plugins")["plugins"]
    shown = {(view["destination"], view["name"], view["href"]) for view in plugin["external_views"]}
    assert shown == {("nav", "Streams", "kappa/console/"), ("dag", "Streams", "kappa/console/?dag={DAG_ID}")}


@pytest.mark.long(minutes=2)
def test_five_builds_make_no_new_version_of_any_dag(server: ApiServer, tmp_path: Path) -> None:
    server.airflow(*SERIALIZE, **NOW)
    with closing(sqlite3.connect(server.database)) as database, database:
        database.execute(RUN_ONCE)
    first = dag_versions(server)
    assert len(first) == len(list((CHECKOUT / "dags").glob("*.py")))
    artifacts.copy_sources(CHECKOUT, tmp_path)
    for number in range(5):
        (tmp_path / "jobs" / "metrics.py").open("a").write(f"# {number}\n")
        artifacts.build(tmp_path, server.settings.artifacts, datetime.now(UTC))
    assert len(artifacts.known(server.settings.artifacts)) == 5
    server.airflow(*SERIALIZE, **NOW)
    assert dag_versions(server) == first
    server.airflow(*SERIALIZE, **NOW, KAPPA__RELEASES__PROVE_CRON="1 2 3 4 5")
    changed = {dag for dag, found in dag_versions(server).items() if found != first[dag]}
    assert changed == {"prove_replay"}, "another file would be a new version"


SERIALIZE = ("dags", "reserialize")
NOW = {"AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL": "0"}
"""Airflow looks at once, not after 30 s only, whether a DAG is another one."""
RUN_ONCE = """
insert into task_instance (id, task_id, dag_id, run_id, map_index, pool, pool_slots, try_number, dag_version_id)
select id, 'lease', dag_id, 'run', -1, 'default_pool', 1, 1, id from dag_version"""
"""Each version of a DAG has run: Airflow changes one that has not in its place."""


def dag_versions(server: ApiServer) -> dict[str, list[tuple[int, str]]]:
    """By DAG, the number and the hash of each version."""
    found: dict[str, list[tuple[int, str]]] = {}
    asked = """select v.dag_id, v.version_number, s.dag_hash from dag_version v
    join serialized_dag s on s.dag_version_id = v.id order by 1, 2"""
    with closing(sqlite3.connect(server.database)) as database:
        for dag, *version in database.execute(asked):
            found.setdefault(dag, []).append(tuple(version))
    return found


def test_a_process_that_loads_the_plugin_does_not_load_what_only_the_api_server_needs() -> None:
    script = "import sys, kappa.airflow.plugin as p; print('fastapi' in sys.modules, p.KappaPlugin().name)"
    command = [sys.executable, "-c", script]
    surroundings = {"PYTHONPATH": search_path(CHECKOUT), "AIRFLOW_HOME": "/nonexistent", "PATH": ""}
    said = subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=300, check=True)
    assert said.stdout.split() == ["False", "kappa"]
