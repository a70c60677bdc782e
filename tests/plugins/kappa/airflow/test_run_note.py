"""The note of a run: set over Airflow's REST API by a connection of Airflow's, and never a reason to fail."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowNotFoundException

from kappa.airflow import run_note
from kappa.airflow_api import LONGEST_NOTE, Run
from kappa.core.installation.addresses import Airflow, PlainAddress
from kappa.core.installation.settings import Settings

RUN = Run("deploy_stream", "scheduled__2026-01-31T09:30:00+00:00")


def connection(**given: Any) -> Connection:
    """Airflow's connection."""
    return Connection(conn_id=run_note.CONNECTION, **{"conn_type": "http", "host": "127.0.0.1", "port": 18090, **given})


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow has the connection, with a password."""
    monkeypatch.setattr(Connection, "get", lambda _: connection(login="operator", password="open sesame"))


@pytest.mark.usefixtures("connected")
def test_a_note_is_left_on_the_run_it_is_about(settings: Settings) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(201, json={"access_token": "the token"})

    assert run_note.leave(settings, RUN, "x" * 1500, httpx.MockTransport(answer))
    login, patch = asked
    assert str(login.url) == "http://127.0.0.1:18090/auth/token"
    assert json.loads(login.content) == {"username": "operator", "password": "open sesame"}
    assert (patch.method, patch.headers["Authorization"]) == ("PATCH", "Bearer the token")
    assert patch.url.raw_path == (b"/api/v2/dags/deploy_stream/dagRuns/scheduled__2026-01-31T09%3A30%3A00%2B00%3A00")
    assert len(json.loads(patch.content)["note"]) == LONGEST_NOTE


def test_a_password_without_a_login_is_a_token(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    held = connection(host="https://airflow.example.org", port=None, password="a token")
    monkeypatch.setattr(Connection, "get", lambda _: held)
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={})

    assert run_note.leave(settings, RUN, "x", httpx.MockTransport(answer))
    [patch] = asked
    assert (patch.url.host, patch.headers["Authorization"]) == ("airflow.example.org", "Bearer a token")


def test_a_password_is_said_plainly_to_no_other_host(settings: Settings) -> None:
    elsewhere = connection(host="airflow.example.org", port=8080, login="notes", password="secret")
    with pytest.raises(PlainAddress, match=r"http://airflow.example.org:8080.*kappa_airflow an https:// host"):
        run_note.signed_in(elsewhere, settings)
    trusted = replace(settings, airflow=Airflow(allow_plain=True))
    assert run_note.signed_in(elsewhere, trusted).url == "http://airflow.example.org:8080"
    for said in ({"schema": "https"}, {"conn_type": "https"}):
        tls = connection(**{"host": "airflow.example.org", "port": 8443, "password": "secret", **said})
        known = run_note.signed_in(tls, replace(settings, airflow=Airflow(ca="/etc/kappa/ca.pem")))
        assert (known.url, known.ca) == ("https://airflow.example.org:8443", "/etc/kappa/ca.pem")


def test_without_the_connection_the_note_is_left_out_and_the_log_says_so(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing(conn_id: str) -> Connection:
        raise AirflowNotFoundException(f"The conn_id `{conn_id}` isn't defined")

    monkeypatch.setattr(Connection, "get", missing)
    with caplog.at_level(logging.WARNING):
        assert not run_note.leave(settings, RUN, "x", httpx.MockTransport(lambda _: httpx.Response(200, json={})))
    assert "Airflow has no connection 'kappa_airflow'" in caplog.text


@pytest.mark.usefixtures("connected")
@pytest.mark.parametrize("status", [401, 404, 500])
def test_a_note_that_airflow_does_not_take_fails_nothing(settings: Settings, status: int) -> None:
    assert not run_note.leave(settings, RUN, "x", httpx.MockTransport(lambda _: httpx.Response(status)))


@pytest.mark.usefixtures("connected")
def test_a_note_with_nobody_to_leave_it_with_fails_nothing(settings: Settings) -> None:
    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    assert not run_note.leave(settings, RUN, "x", httpx.MockTransport(gone))
