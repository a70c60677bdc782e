"""What doctor finds of Airflow: pools as it tells them, and what a task saw, each with its remedy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import httpx
import pytest

from cli.doctor import airflow_parts
from cli.doctor.trial import Tried, carry_out
from kappa.airflow_api import Airflow, ask_health
from kappa.airflow_sign_in import SignedIn
from kappa.core.installation.settings import Settings

POOLS = [
    {"name": "replay", "slots": 1, "include_deferred": True},
    {"name": "spark_cores", "slots": 8, "include_deferred": False},
]
FINDING = {"part": "connection spark_local", "wrong": "there is none", "remedy": "airflow connections add spark_local"}


@pytest.fixture
def tried(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Tried]]:
    """What comes of it with these pools, this answer to a run, and what its task saw."""

    def make(pools: Any = POOLS, run: int = 200, saw: Any = None, paused: Sequence[str] = ()) -> dict[str, Tried]:
        def answer(request: httpx.Request) -> httpx.Response:
            path = request.url.path
            if path == "/api/v2/pools":
                return httpx.Response(200, json={"pools": pools})
            if request.url.params.get("paused") == "true":
                return httpx.Response(200, json={"dags": [{"dag_id": name} for name in paused]})
            if request.method == "POST":
                assert path == "/api/v2/dags/check_installation/dagRuns"
                return httpx.Response(run, json={"detail": "Forbidden"})
            if path.endswith("/taskInstances/look/xcomEntries/return_value"):
                return httpx.Response(200, json={"value": saw or {"findings": [], "not_looked_at": []}})
            if path.endswith("/taskInstances"):
                return httpx.Response(200, json={"task_instances": []})
            return httpx.Response(200, json={"state": "failed", "total_entries": 10})

        session = Airflow(SignedIn(settings.airflow_url, "ada", token="hers"), httpx.MockTransport(answer))
        monkeypatch.setattr(airflow_parts, "session", lambda _: session)
        return {trial.what: carry_out(trial) for trial in airflow_parts.trials(settings)}

    return make


def test_where_all_is_there_it_says_what(tried: Callable[..., dict[str, Tried]]) -> None:
    found = tried()
    assert (found["pools"].found, found["pools"].finding) == ("replay of 1, spark_cores of 8", None)
    tasks = found["what tasks see (check_installation)"]
    assert (tasks.found, tasks.finding) == ("all they need", None)


def test_a_missing_pool_is_named_with_its_remedy(tried: Callable[..., dict[str, Tried]]) -> None:
    finding = tried(pools=POOLS[1:])["pools"].finding
    assert finding is not None
    assert finding.wrong.startswith("pool replay: Airflow has no pool of this name")
    assert finding.remedy == "./kappa up"


def test_what_a_task_saw_is_told_as_it_said_it(tried: Callable[..., dict[str, Tried]]) -> None:
    what = "what tasks see (check_installation)"
    finding = tried(saw={"findings": [FINDING], "not_looked_at": []})[what].finding
    assert finding is not None
    assert (finding.wrong, finding.remedy) == ("connection spark_local: there is none", FINDING["remedy"])
    hidden = tried(saw={"findings": [], "not_looked_at": ["pools (403)"]})[what]
    assert hidden.found == "all they need; not looked at: pools (403)"


def test_who_may_not_start_the_check_is_told_whom_to_sign_in_as(tried: Callable[..., dict[str, Tried]]) -> None:
    finding = tried(run=403)["what tasks see (check_installation)"].finding
    assert finding is not None
    assert finding.wrong == "Airflow refused to run check_installation (403): Forbidden"
    assert "role operator: ./kappa login" in finding.remedy


def test_a_dag_that_somebody_paused_is_named_for_it_runs_no_more(tried: Callable[..., dict[str, Tried]]) -> None:
    """But for the one that is paused at first."""
    assert tried()["DAGs"].found == "none paused"
    assert tried(paused=["prove_replay"])["DAGs"].found.startswith("none paused but prove_replay, which waits for")
    finding = tried(paused=["validate_live", "another", "prove_replay", "deploy_stream"])["DAGs"].finding
    assert finding is not None
    assert finding.wrong == "paused, so that no run of them begins: deploy_stream, validate_live"
    assert finding.remedy == "Switch them on in its list of DAGs."


def test_a_server_that_has_just_started_is_waited_for_longer_than_by_who_looks_again(
    tried: Callable[..., dict[str, Tried]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.extensions["timeout"]["read"])
        return httpx.Response(200, json={part: {"status": "healthy"} for part in airflow_parts.PARTS})

    through = partial(ask_health, transport=httpx.MockTransport(answer))
    monkeypatch.setattr(airflow_parts, "ask_health", through)
    assert tried()["parts"].found.startswith("healthy: ")
    assert asked == [airflow_parts.ANSWER_SECONDS]
