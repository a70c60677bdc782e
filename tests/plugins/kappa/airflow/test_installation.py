"""What a task sees of its installation: what it cannot reach is told, and nothing of that stops it from looking on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest
from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowNotFoundException

from kappa.airflow import installation
from kappa.airflow_api import Run
from kappa.core.installation.connections import NoConnections
from kappa.core.installation.embedded import Ports
from kappa.core.installation.needs import Held
from kappa.core.installation.settings import Settings

RUN = Run("check_installation", "run-1")
GIVEN = {
    "kappa_postgres": {"conn_type": "postgres", "host": "pg", "port": 6432, "schema": "kappa2", "password": "no"},
    "kafka_default": {"conn_type": "kafka", "extra": {"bootstrap.servers": "k1:9093"}},
    "spark_default": {"conn_type": "spark", "host": "spark://m1", "port": 7077},
    "kappa_spark_rest": {"conn_type": "http", "extra": {"rest": ["https://m1:6066"], "ui": ["https://m1:8080"]}},
    "kappa_airflow": {"conn_type": "http", "host": "https://airflow.example.com"},
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """An installation of which nothing is there."""
    return Settings(home=tmp_path / "state", ports=Ports(postgres=1, airflow=1))


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Those that Airflow has."""
    there: set[str] = set()

    def get(conn_id: str) -> Connection:
        if conn_id not in there:
            raise AirflowNotFoundException(conn_id)
        return Connection(conn_id=conn_id, conn_type="http", host="127.0.0.1", port=1, login="u", password="p")

    monkeypatch.setattr(Connection, "get", get)
    return there


def answers(monkeypatch: pytest.MonkeyPatch, note: int) -> None:
    """Airflow answers, to a note with this status."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "PATCH":
            assert request.url.path.endswith("/dagRuns/run-1")
            return httpx.Response(note, json={"detail": "Forbidden"})
        if request.url.path == "/auth/token":
            return httpx.Response(201, json={"access_token": "token"})
        pools = [{"name": "replay", "slots": 1, "include_deferred": True}]
        return httpx.Response(200, json={"pools": pools})

    made = httpx.Client
    transport = httpx.MockTransport(answer)
    monkeypatch.setattr(httpx, "Client", lambda **given: made(**{**given, "transport": transport}))


def test_what_is_not_there_is_told_with_what_was_answered(settings: Settings, connections: set[str]) -> None:
    seen = installation.look(settings, RUN)
    assert (seen.pools, seen.notes, seen.connections) == (None, None, frozenset())
    assert "no connection kappa_airflow; ./kappa doctor looks" in seen.pools_hidden
    assert {role: "refused" in told for role, told in seen.roles.items()} == {
        "kappa_registry": True,
        "kappa_owner": True,
    }
    assert seen.folders == {str(settings.shared): "there is no such folder on this worker"}


def test_what_is_there_is_seen(settings: Settings, connections: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    connections |= {"spark_local", "kappa_airflow"}
    settings.shared.mkdir(parents=True)
    answers(monkeypatch, 200)
    seen = installation.look(settings, RUN)
    assert (seen.pools, seen.pools_hidden, seen.notes) == ({"replay": Held(1, True)}, "", "")
    assert seen.connections == frozenset({"spark_local"})
    assert seen.folders == {str(settings.shared): ""}


def test_a_user_who_may_not_leave_a_note_is_told(
    settings: Settings, connections: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connections.add("kappa_airflow")
    answers(monkeypatch, 403)
    assert installation.look(settings, RUN).notes == "Airflow refused the note (403): Forbidden"


def test_an_airflow_that_does_not_answer_is_told(settings: Settings, connections: set[str]) -> None:
    connections.add("kappa_airflow")
    assert "does not answer" in (installation.look(settings, RUN).notes or "")


def test_the_refusal_names_each_thing_with_its_remedy() -> None:
    found = [{"part": "pool replay", "wrong": "Airflow has none", "remedy": "airflow pools set replay 1 x"}]
    assert str(installation.InstallationLacks(found)) == (
        "1 things are wrong with the installation. pool replay: Airflow has none. Do: airflow pools set replay 1 x."
    )


def test_a_task_and_a_trigger_take_addresses_of_connections_where_they_are_told_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAPPA_HOME", str(tmp_path / "state"))
    for name, said in GIVEN.items():
        monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", json.dumps(said))
    assert installation.own_settings().is_embedded, "connections are looked at by nobody who was not told to"
    monkeypatch.setenv("KAPPA_CONNECTIONS", "true")
    settings = installation.own_settings()
    assert (settings.database_address, settings.database) == ("pg:6432", "kappa2")
    assert settings.kafka.bootstrap == "k1:9093"
    assert settings.spark_rest == ("https://m1:6066",)
    assert asyncio.run(installation.settings_of_trigger()) == settings


def test_without_any_of_the_connections_nothing_passes_for_the_embedded_stack(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAPPA_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KAPPA_CONNECTIONS", "true")
    monkeypatch.setattr(Connection, "get", _nowhere)
    with pytest.raises(NoConnections, match=r"kappa_postgres, kafka_default"):
        installation.own_settings()


def _nowhere(conn_id: str) -> Connection:
    raise AirflowNotFoundException(conn_id)
