"""Airflow over REST, against a server of our own: login, trigger, states, results, refusals."""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx
import pytest

from kappa.airflow_api import Airflow, AirflowRefused, Holders, Run
from kappa.airflow_sign_in import NotSignedIn, SignedIn
from kappa.core.audit import in_place_id
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.core.versions import Lease
from kappa.unavailable import Unreachable

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
HELD = Lease("ad_ctr", 1, "run-1", "rescale", "ada", None, AT, AT)
RUN = Run("deploy_stream", "run-1", "ad_ctr")
Answer = Callable[[httpx.Request], httpx.Response]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


def airflow(settings: Settings, answer: Answer) -> Airflow:
    """A session with such a server."""
    return session(settings, server(answer))


def session(settings: Settings, transport: httpx.MockTransport) -> Airflow:
    """A session with any server."""
    return Airflow(SignedIn(settings.airflow_url, "ada", "sesame"), transport)


def server(answer: Answer) -> httpx.MockTransport:
    """A server that takes the password and answers all else by `answer`."""

    def handle(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/auth/token":
            good = json.loads(request.content) == {"username": "ada", "password": "sesame"}
            return httpx.Response(201, json={"access_token": "t"}) if good else httpx.Response(401)
        assert request.headers["Authorization"] == "Bearer t"
        return answer(request)

    return httpx.MockTransport(handle)


def test_a_run_is_triggered_with_an_id_of_our_own_and_the_job(settings: Settings) -> None:
    seen: list[dict[str, object]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(json.loads(request.content))
        return httpx.Response(200, json={})

    run = airflow(settings, answer).trigger("deploy_stream", "ad_ctr", {"start": "latest"})
    assert seen[0]["conf"] == {"job": "ad_ctr", "start": "latest", "typed_by": getpass.getuser()}
    assert seen[0]["dag_run_id"] == run.run_id
    assert run.run_id.startswith("deploy_stream-ad_ctr-")


def test_of_two_runs_the_one_that_was_asked_for_first_bears_the_earlier_date(settings: Settings) -> None:
    """Airflow gives a free slot of a pool to the earlier one; a run without a date may wait behind any other."""
    dates: list[datetime] = []

    def answer(request: httpx.Request) -> httpx.Response:
        dates.append(datetime.fromisoformat(json.loads(request.content)["logical_date"]))
        return httpx.Response(200, json={})

    for _ in range(2):
        airflow(settings, answer).trigger("reprocess_stream", "ad_ctr", {})
    assert dates[0] < dates[1] <= datetime.now(UTC)


def test_one_run_for_several_jobs_names_them_all(settings: Settings) -> None:
    seen: list[dict[str, object]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(json.loads(request.content))
        return httpx.Response(200, json={})

    run = airflow(settings, answer).trigger_together("reprocess_stream", ["ad_ctr", "client_spend"], {"rate": 5})
    assert seen[0]["conf"] == {"jobs": ["ad_ctr", "client_spend"], "rate": 5, "typed_by": getpass.getuser()}
    assert run.job == "ad_ctr, client_spend"
    assert run.run_id.startswith("reprocess_stream-ad_ctr.client_spend-")


def test_a_dag_that_airflow_has_not_read_yet_is_waited_for(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kappa.airflow_api.time.sleep", lambda _: None)
    answers = iter([httpx.Response(404, json={"detail": "no such DAG"}), httpx.Response(200, json={})])
    airflow(settings, lambda _: next(answers)).trigger("deploy_stream", "ad_ctr", {})
    assert next(answers, None) is None


def test_a_refused_form_is_shown_with_airflows_words(settings: Settings) -> None:
    refused = airflow(settings, lambda _: httpx.Response(400, json={"detail": "Invalid input for param start"}))
    with pytest.raises(AirflowRefused, match=r"run deploy_stream \(400\): Invalid input for param start"):
        refused.trigger("deploy_stream", "ad_ctr", {})


def test_states_and_the_result_are_read(settings: Settings) -> None:
    tasks = [{"task_id": "plan", "state": "success"}, {"task_id": "stage", "state": None}]
    answers = {
        "/api/v2/dags/deploy_stream/dagRuns/run-1": {"state": "running"},
        "/api/v2/dags/deploy_stream/dagRuns/run-1/taskInstances": {"task_instances": tasks},
        "/api/v2/dags/deploy_stream/dagRuns/run-1/taskInstances/conclude/xcomEntries/return_value": {"value": "Done."},
    }
    session = airflow(settings, lambda request: httpx.Response(200, json=answers[request.url.path]))
    seen = session.look(RUN)
    assert (seen.state, seen.ended, dict(seen.tasks)) == (
        "running",
        False,
        {"plan": "success", "stage": "none"},
    )
    assert session.result(RUN) == "Done."


def test_tasks_come_in_the_order_in_which_they_were_begun(settings: Settings) -> None:
    tasks = [
        {"task_id": "begin", "state": "running", "start_date": "2026-01-31T12:00:05Z"},
        {"task_id": "conclude", "state": None, "start_date": None},
        {"task_id": "lease", "state": "success", "start_date": "2026-01-31T12:00:01Z"},
    ]
    found = {"state": "running", "task_instances": tasks}
    seen = airflow(settings, lambda _: httpx.Response(200, json=found)).look(RUN)
    assert list(seen.tasks) == ["lease", "begin", "conclude"]


@pytest.mark.parametrize(
    ("answer", "over"),
    [
        (httpx.Response(200, json={"state": "success"}), True),
        (httpx.Response(200, json={"state": "failed"}), True),
        (httpx.Response(200, json={"state": "running"}), False),
        (httpx.Response(200, json={"state": "queued"}), False),
        (httpx.Response(500), False),
    ],
)
def test_a_lease_is_over_only_when_airflow_says_that_its_run_is(
    settings: Settings, answer: httpx.Response, over: bool
) -> None:
    asked: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return answer

    assert Holders(lambda: session(settings, server(handle)))(HELD) is over
    assert asked == ["/api/v2/dags/rescale_stream/dagRuns/run-1"]


@pytest.mark.parametrize(("dag", "over"), [(httpx.Response(200, json={}), True), (httpx.Response(404), False)])
def test_the_lease_of_a_deleted_run_is_over_where_airflow_knows_its_dag(
    settings: Settings, dag: httpx.Response, over: bool
) -> None:
    answers = {"/api/v2/dags/rescale_stream": dag}
    missing = httpx.Response(404, json={"detail": "not found"})
    held_by = Holders(lambda: session(settings, server(lambda asked: answers.get(asked.url.path, missing))))
    assert held_by(HELD) is over


def test_a_command_in_place_is_nothing_that_airflow_is_asked_about(settings: Settings) -> None:
    in_place = replace(HELD, run_id=in_place_id("rescale", "ad_ctr"))
    failed = server(lambda _: httpx.Response(200, json={"state": "failed"}))
    assert not Holders(lambda: session(settings, failed))(in_place)


@pytest.mark.parametrize(
    ("verb", "dag"), [("retire", "retire_versions"), ("prove", "prove_replay"), ("validate", "validate_live")]
)
def test_the_holder_of_a_scheduled_verb_is_looked_for_in_its_own_dag(settings: Settings, verb: str, dag: str) -> None:
    asked: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(200, json={"state": "success"})

    assert Holders(lambda: session(settings, server(handle)))(replace(HELD, verb=verb)) is True
    assert asked == [f"/api/v2/dags/{dag}/dagRuns/run-1"]


def test_while_airflow_is_away_every_holder_counts_as_alive(settings: Settings) -> None:
    def away(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    def nobody() -> Airflow:
        raise NotSignedIn(settings.airflow_url, "nobody is signed in")

    assert Holders(lambda: session(settings, httpx.MockTransport(away)))(HELD) is False
    assert Holders(nobody)(HELD) is False


def test_an_airflow_that_is_away_is_named_with_the_remedy(settings: Settings) -> None:
    def away(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(Unreachable, match=r"Airflow at http://127.0.0.1:\d+ does not answer .* ./kappa up starts it"):
        session(settings, httpx.MockTransport(away)).look(RUN)


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_server_that_failed_is_worth_another_try(settings: Settings, status: int) -> None:
    with pytest.raises(Unreachable, match=f"{status}: Database error"):
        airflow(settings, lambda _: httpx.Response(status, json={"detail": "Database error"})).look(RUN)


def test_who_signs_out_is_told_where_the_token_was_not_taken_back(settings: Settings) -> None:
    airflow(settings, lambda _: httpx.Response(307, headers={"location": "/auth/login"})).sign_out()
    for status in (404, 500):
        with pytest.raises(Refusal):
            airflow(settings, partial(_answered, status)).sign_out()


def _answered(status: int, _: httpx.Request) -> httpx.Response:
    return httpx.Response(status)
