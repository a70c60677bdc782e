"""`rescale`: the form that is sent, and what is refused before anything is sent."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from cli.commands.lifecycle import rescale
from cli.follow import Outcome
from kappa.core.advice.size import Advice, Size
from kappa.core.job_catalog import UnknownJob
from kappa.core.refusals import Refusal
from kappa.core.requests.lifecycle import RescaleRequest
from kappa.verbs.rescale.conditions import NothingAsked

pytestmark = pytest.mark.usefixtures("home")


class Plan:
    """A plan that only says what was asked."""

    def __init__(self, asked: RescaleRequest) -> None:
        self._asked = asked

    def rows(self) -> list[tuple[str, str]]:
        return [("state partitions", f"4 -> {self._asked.partitions} [planned]")]

    def to_json(self) -> dict[str, Any]:
        return {"job": self._asked.job, "partitions": self._asked.partitions, "cores": self._asked.cores}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """The runs that were asked for, each of which succeeds."""
    asked: list[tuple[str, Any]] = []

    def by_airflow(_: object, dag_id: str, forms: dict[str, Any]) -> list[Outcome]:
        asked.append((dag_id, forms))
        return [Outcome(job, "run-1", True, f"{job} has another size.") for job in forms]

    monkeypatch.setattr(rescale, "by_airflow", by_airflow)
    monkeypatch.setattr(rescale, "connect", lambda _: None)
    monkeypatch.setattr(rescale, "plan_rescale", lambda _, asked: Plan(asked))
    return asked


def run(*words: str) -> Result:
    """The command."""
    app = typer.Typer()
    rescale.register(app)
    return CliRunner().invoke(app, list(words))


def test_the_form_holds_what_was_given_and_nothing_for_the_rest(sent: list[tuple[str, Any]]) -> None:
    result = run("ad_ctr", "--partitions", "4", "--reason", "growth", "--wait", "--json")
    form = {
        "job": "ad_ctr",
        "partitions": 4,
        "cores": None,
        "executors": None,
        "reason": "growth",
        "when_held": "wait",
        "dry_run": False,
    }
    assert sent == [("rescale_stream", {"ad_ctr": form})]
    expected = {"job": "ad_ctr", "run_id": "run-1", "success": True, "sentence": "ad_ctr has another size."}
    assert json.loads(result.stdout) == [expected]
    assert result.exit_code == 0


def test_without_a_number_nothing_is_asked_for(sent: list[tuple[str, Any]]) -> None:
    refusal = run("ad_ctr").exception
    assert isinstance(refusal, NothingAsked)
    assert sent == []


def test_an_unknown_job_is_refused(sent: list[tuple[str, Any]]) -> None:
    assert isinstance(run("ad_crt", "--cores", "2").exception, UnknownJob)
    assert sent == []


def test_a_dry_run_prints_the_plan_and_sends_nothing(sent: list[tuple[str, Any]]) -> None:
    told = json.loads(run("ad_ctr", "--cores", "2", "--dry-run", "--json").stdout)
    assert told == [{"job": "ad_ctr", "partitions": None, "cores": 2}]
    assert "4 -> 3 [planned]" in run("ad_ctr", "--partitions", "3", "--dry-run").output
    assert sent == []


def test_a_rescale_that_failed_ends_with_its_sentence_and_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Outcome("ad_ctr", "run-1", False, "It was undone (operator [state] differs).")
    monkeypatch.setattr(rescale, "by_airflow", lambda *_: [failed])
    result = run("ad_ctr", "--cores", "2")
    assert result.exit_code == 1
    assert "error: It was undone (operator [state] differs)." in result.output


def test_without_a_stack_the_remedy_is_named() -> None:
    refusal = run("ad_ctr", "--cores", "2").exception
    assert isinstance(refusal, Refusal)
    assert "Run ./kappa up" in str(refusal)


def advise(monkeypatch: pytest.MonkeyPatch, *told: Advice) -> None:
    monkeypatch.setattr("cli.status_of_job.advised", lambda _: list(told))


MORE = Advice("ad_ctr", 1, Size.MORE, "it is overrun", {"executor_cores": 4, "state_partitions": 4})


def test_what_the_advice_says_is_asked_for_with_its_reason(
    sent: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    advise(monkeypatch, replace(MORE, job="client_spend", wanted={"executor_cores": 9}), MORE)
    assert run("ad_ctr", "--advised").exit_code == 0
    assert run("ad_ctr", "--advised", "--cores", "3", "--reason", "half of it").exit_code == 0
    first, second = (forms["ad_ctr"] for _, forms in sent)
    assert (first["cores"], first["partitions"], first["executors"]) == (4, 4, None)
    assert first["reason"] == "advised: it is overrun"
    assert (second["cores"], second["partitions"], second["reason"]) == (3, 4, "half of it")


def test_a_dry_run_shows_the_advice_and_its_plan_and_asks_for_nothing(
    sent: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    advise(monkeypatch, MORE)
    result = run("ad_ctr", "--advised", "--dry-run")
    assert "advised: it is overrun" in result.output
    assert "4 -> 4 [planned]" in result.output
    assert sent == []


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ([], "no version of it serves"),
        ([replace(MORE, size=Size.NONE, sentence="no advice: it fits", wanted={})], "no advice: it fits"),
        (
            [replace(MORE, size=Size.LARGER_BATCHES, wanted={"records_per_batch": 9})],
            "./kappa deploy ad_ctr --set records_per_batch=9",
        ),
    ],
)
def test_without_such_advice_nothing_is_asked_for(
    sent: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch, told: list[Advice], why: str
) -> None:
    advise(monkeypatch, *told)
    refusal = run("ad_ctr", "--advised").exception
    assert isinstance(refusal, rescale.NoAdvice)
    assert why in str(refusal)
    assert sent == []
