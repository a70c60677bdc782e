"""An answer that Airflow has taken: it is read over its REST API; where that does not say, there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from kappa.airflow import approval as answers
from kappa.airflow_api import Run
from kappa.core.settings import Settings

RUN = Run("reprocess_stream", "run-1")
BOB = {"id": "bob", "name": "bob"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "airflow-users.json").write_text(json.dumps({"operator": "open sesame"}))
    return Settings(home=tmp_path)


def says(status: int, held: dict[str, Any]) -> httpx.MockTransport:
    """Airflow, which answers so about the task's question."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/auth/token":
            return httpx.Response(201, json={"access_token": "the token"})
        assert request.url.path == "/api/v2/dags/reprocess_stream/dagRuns/run-1/taskInstances/approve/-1/hitlDetails"
        return httpx.Response(status, json=held)

    return httpx.MockTransport(answer)


def test_the_answer_is_told_with_whose_it_is(settings: Settings) -> None:
    held = {"response_received": True, "chosen_options": ["Reject"], "responded_by_user": BOB, "subject": "Promote?"}
    told = answers.taken(settings, RUN, "approve", says(200, held))
    assert told == {"chosen_options": ["Reject"], "responded_by_user": BOB, "timedout": False}
    nobodys = answers.taken(settings, RUN, "approve", says(200, {**held, "responded_by_user": None}))
    assert nobodys == {"chosen_options": ["Reject"], "responded_by_user": None, "timedout": True}


@pytest.mark.parametrize(
    ("status", "held"),
    [(404, {"detail": "none"}), (500, {}), (200, {"response_received": False, "chosen_options": None})],
)
def test_without_an_answer_there_is_none(settings: Settings, status: int, held: dict[str, Any]) -> None:
    assert answers.taken(settings, RUN, "approve", says(status, held)) is None


def test_where_airflow_cannot_be_asked_there_is_none(settings: Settings) -> None:
    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    assert answers.taken(settings, RUN, "approve", httpx.MockTransport(gone)) is None
