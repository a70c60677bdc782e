"""`reprocess`: one run for all jobs, its form, what is refused before anything is sent, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
import typer
from typer.testing import CliRunner, Result

from cli.commands.lifecycle import reprocess
from cli.commands.lifecycle.deploy import NotKeyValue
from cli.follow import Outcome
from kappa.core.job_catalog import UnknownJob
from kappa.core.replays import Approval
from kappa.core.requests.reprocessing import InvalidBand, NoBands, ReprocessRequest, UnknownBand, UnusedBands
from kappa.core.validation import Band, Direction, Parity
from kappa.platform import Platform
from tests.plugins.replay_plans import planned

pytestmark = pytest.mark.usefixtures("home")
Sent = list[tuple[str, Sequence[str], Mapping[str, Any]]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """The runs that were asked for, each of which succeeds; no replay of theirs was answered."""
    asked: Sent = []

    def by_one_run(_: object, dag: str, jobs: Sequence[str], form: Mapping[str, Any], watches: object) -> list[Outcome]:
        asked.append((dag, jobs, form))
        return [Outcome(", ".join(jobs), "run-1", True, "Promoted.")]

    monkeypatch.setattr(reprocess, "by_one_run", by_one_run)
    monkeypatch.setattr(reprocess, "connect", lambda _: platform(None))
    monkeypatch.setattr("cli.lifecycle_verbs.digest", lambda _, artifact: artifact or "c0de")
    return asked


def platform(answer: str | None) -> Platform:
    """Ports of a stack whose replay was answered so."""
    replay = SimpleNamespace(answer=answer, answered_by="ada")
    return cast("Platform", SimpleNamespace(releases=SimpleNamespace(replay_of_run=lambda run_id: replay)))


def run(*words: str) -> Result:
    """The command."""
    app = typer.Typer()
    reprocess.register(app)
    return CliRunner().invoke(app, list(words))


def test_all_jobs_are_one_run_with_everything_that_was_given(sent: Sent) -> None:
    words = ["--from", "2026-01-31T09:30Z", "--set", "click_interval_ms=30000", "--parity", "declared", "--band",
             "clicks:down:50", "--approve", "ask", "--rate", "2000", "--cores", "1",
             "--reason", "30 s", "--wait"]  # fmt: skip
    result = run("client_spend", "ad_ctr", "ad_ctr", *words, "--json")
    ((dag, jobs, form),) = sent
    assert (dag, jobs) == ("reprocess_stream", ["ad_ctr", "client_spend"])
    assert form == {
        "jobs": ["ad_ctr", "client_spend"], "start": "2026-01-31T09:30Z", "artifact": "c0de",
        "click_interval_ms": 30_000,
        "parity": "declared", "bands": ["clicks:down:50"], "approval": "ask", "cores": 1, "rate": 2000,
        "reason": "30 s", "when_held": "wait", "dry_run": False,
    }  # fmt: skip
    assert [outcome["sentence"] for outcome in json.loads(result.stdout)] == ["Promoted."]
    assert result.exit_code == 0


def test_what_was_not_given_is_left_to_policy_and_settings(sent: Sent) -> None:
    run("ad_ctr")
    form = sent[0][2]
    assert (form["parity"], form["approval"], form["rate"], form["cores"]) == ("exact", None, None, None)
    assert (form["when_held"], form["reason"], form["start"]) == ("refuse", None, "earliest")


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("ad_crt",), UnknownJob),
        (("ad_ctr", "--band", "clicks"), InvalidBand),
        (("ad_ctr", "--parity", "declared"), NoBands),
        (("ad_ctr", "--parity", "declared", "--band", "ctr:up"), UnknownBand),
        (("ad_ctr", "--band", "clicks:up"), UnusedBands),
        (("ad_ctr", "--set", "x"), NotKeyValue),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_sent(
    sent: Sent, words: tuple[str, ...], refusal: type[Exception]
) -> None:
    assert isinstance(run(*words).exception, refusal)
    assert sent == []


def test_a_dry_run_prints_plan_and_price_and_sends_nothing(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[ReprocessRequest] = []

    def plan(_: object, request: ReprocessRequest) -> object:
        asked.append(request)
        return planned()

    monkeypatch.setattr(reprocess, "plan_reprocess", plan)
    result = run("ad_ctr", "--parity", "declared", "--band", "clicks:down:50", "--approve", "ask", "--dry-run")
    assert "retention slack" in result.output
    assert (asked[0].parity, asked[0].bands) == (Parity.DECLARED, (Band("clicks", Direction.DOWN, 50),))
    assert (asked[0].approval, asked[0].artifact) == (Approval.ASK, "c0de")
    assert sent == []


@pytest.mark.parametrize(
    ("answer", "success"), [(None, True), ("approved", True), ("rejected", False), ("timed out", False)]
)
def test_a_replay_that_was_not_approved_is_no_success(answer: str | None, success: bool) -> None:
    (reached,) = reprocess.answered(platform(answer), [Outcome("ad_ctr", "run-1", True, "It ended.")])
    assert reached.success is success
    assert success or reached.sentence.startswith(f"It ended. ({answer}")


def test_a_run_that_failed_keeps_its_own_sentence() -> None:
    failed = Outcome("ad_ctr", "run-1", False, "No free cores.")
    assert reprocess.answered(platform("rejected"), [failed]) == [failed]
