"""The note of a run: set over Airflow's REST API, and never a reason to fail."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from kappa.airflow import run_note
from kappa.airflow_api import LONGEST_NOTE, Run
from kappa.core.settings import Settings

RUN = Run("deploy_stream", "scheduled__2026-01-31T09:30:00+00:00")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "airflow-users.json").write_text(json.dumps({"operator": "open sesame"}))
    return Settings(home=tmp_path)


def test_a_note_is_left_on_the_run_it_is_about(settings: Settings) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(201, json={"access_token": "the token"})

    assert run_note.leave(settings, RUN, "x" * 1500, httpx.MockTransport(answer))
    login, patch = asked
    assert json.loads(login.content) == {"username": "operator", "password": "open sesame"}
    assert (patch.method, patch.headers["Authorization"]) == ("PATCH", "Bearer the token")
    assert patch.url.raw_path == (b"/api/v2/dags/deploy_stream/dagRuns/scheduled__2026-01-31T09%3A30%3A00%2B00%3A00")
    assert len(json.loads(patch.content)["note"]) == LONGEST_NOTE


@pytest.mark.parametrize("status", [401, 404, 500])
def test_a_note_that_airflow_does_not_take_fails_nothing(settings: Settings, status: int) -> None:
    assert not run_note.leave(settings, RUN, "x", httpx.MockTransport(lambda _: httpx.Response(status)))


def test_a_note_with_nobody_to_leave_it_with_fails_nothing(settings: Settings) -> None:
    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    assert not run_note.leave(settings, RUN, "x", httpx.MockTransport(gone))
