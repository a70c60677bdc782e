"""`promote`, `rollback` and `retire`: a reason is needed, the plan is told first, and one run moves all jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
import typer
from typer.testing import CliRunner, Result

from cli import run_verb
from cli.commands.lifecycle import promote, retire
from cli.follow import Outcome
from cli.options import NoReason
from kappa.core.audit import Author
from kappa.core.job_catalog import UnknownJob
from kappa.core.refusals import Refusal
from kappa.platform import Platform
from kappa.verbs.promote import steps as steps_of_promotion
from tests.plugins.fakes import FakeRegistry

pytestmark = pytest.mark.usefixtures("home")


class Plan:
    """A plan that says one thing."""

    def rows(self) -> list[tuple[str, str]]:
        return [("ad_ctr v1", "has read all there is; can be rolled back to until noon")]

    def to_json(self) -> dict[str, Any]:
        return {"said": "noon"}


class Steps:
    """The steps of promotion: what was asked of them."""

    def __init__(self) -> None:
        self.runs: list[tuple[str, Sequence[str], Mapping[str, Any], str | None]] = []
        self.askers: list[str] = []
        self.carried: list[tuple[str, str | None]] = []

    def by_one_run(
        self,
        _: object,
        dag: str,
        jobs: Sequence[str],
        form: Mapping[str, Any],
        watches: object,
        user: str | None = None,
    ) -> list[Outcome]:
        self.runs.append((dag, jobs, form, user))
        return [Outcome(", ".join(jobs), "run-1", True, "release 7: ad_ctr v2.")]

    def by_airflow(self, _: object, dag: str, forms: Mapping[str, Any]) -> list[Outcome]:
        self.runs += [(dag, [job], form, None) for job, form in forms.items()]
        return [Outcome(job, "run-1", True, "freed") for job in forms]

    def plan_promote(self, _: object, jobs: Sequence[str], by: Author) -> Plan:
        self.askers.append(by.actor)
        return Plan()

    def carry_out(self, _: object, plan: object, by: Author, is_over: object, say: object) -> str:
        self.carried.append((by.run_id, by.reason))
        return "release 8 rolled back."


@pytest.fixture
def registry() -> FakeRegistry:
    return FakeRegistry()


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch, registry: FakeRegistry) -> Steps:
    made = Steps()
    platform = cast("Platform", SimpleNamespace(registry=registry))
    for module in (promote, retire):
        monkeypatch.setattr(module, "connect", lambda _: platform)
    monkeypatch.setattr(promote, "by_one_run", made.by_one_run)
    monkeypatch.setattr(retire, "by_airflow", made.by_airflow)
    monkeypatch.setattr(retire, "plan_retire", lambda *_: Plan())
    monkeypatch.setattr(steps_of_promotion, "plan_promote", made.plan_promote)
    monkeypatch.setattr(steps_of_promotion, "plan_rollback", lambda *_: Plan())
    monkeypatch.setattr(steps_of_promotion, "carry_out", made.carry_out)
    return made


def run(*words: str) -> Result:
    """The command."""
    app = typer.Typer()
    promote.register(app)
    retire.register(app)
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize(
    "words",
    [("promote", "ad_ctr"), ("rollback", "ad_ctr"), ("retire", "ad_ctr", "2"), ("rollback", "ad_ctr", "--reason", " ")],
)
def test_without_a_reason_nothing_is_asked_for(steps: Steps, words: tuple[str, ...]) -> None:
    assert isinstance(run(*words).exception, NoReason)
    assert (steps.runs, steps.carried) == ([], [])


def test_all_jobs_of_a_release_are_one_run(steps: Steps) -> None:
    form = {"jobs": ["ad_ctr", "client_spend"], "reason": "30 s", "when_held": "wait", "dry_run": False}
    run("promote", "client_spend", "ad_ctr", "--reason", "30 s", "--wait", "--as", "operator")
    run("rollback", "client_spend", "ad_ctr", "--reason", "30 s", "--wait")
    both = ["ad_ctr", "client_spend"]
    assert steps.runs == [("promote_stream", both, form, "operator"), ("rollback_stream", both, form, None)]


def test_a_rollback_first_says_how_fresh_the_old_version_is(steps: Steps) -> None:
    result = run("rollback", "ad_ctr", "--reason", "wrong")
    assert "until noon" in result.output
    assert result.exit_code == 0


def test_a_rollback_without_airflow_is_the_same_plan_here(steps: Steps) -> None:
    assert "done: release 8 rolled back." in run("rollback", "ad_ctr", "--reason", "wrong", "--without-airflow").output
    ((run_id, reason),) = steps.carried
    assert (run_id.startswith("in-place-rollback-ad_ctr-"), reason, steps.runs) == (True, "wrong", [])


def test_a_dry_run_asks_as_who_would_and_moves_nothing(steps: Steps) -> None:
    for words in (("promote", "ad_ctr", "--as", "operator"), ("rollback", "ad_ctr"), ("retire", "ad_ctr", "v2")):
        assert "until noon" in run(*words, "--dry-run").output
    assert (steps.askers, steps.runs, steps.carried) == (["operator"], [], [])


def test_a_version_is_retired_by_its_number(steps: Steps) -> None:
    run("retire", "ad_ctr", "v2", "--reason", "space")
    form = {"job": "ad_ctr", "version": 2, "reason": "space", "dry_run": False}
    assert steps.runs == [("retire_versions", ["ad_ctr"], form, None)]


@pytest.mark.parametrize("words", [("promote", "ad_crt"), ("rollback", "ad_crt"), ("retire", "ad_crt", "2")])
def test_an_unknown_job_is_refused(steps: Steps, words: tuple[str, ...]) -> None:
    assert isinstance(run(*words, "--reason", "x").exception, UnknownJob)
    assert steps.runs == []


class Broken(Refusal):
    """No."""


def test_a_refusal_is_in_the_audit_of_every_job(registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(platform: Platform, by: Author) -> str:
        raise Broken("the segments changed")

    platform = cast("Platform", SimpleNamespace(registry=registry))
    monkeypatch.setattr("cli.run_verb.lease.release", lambda platform, by: None)
    outcome = run_verb.attempt_together(platform, "rollback", ["ad_ctr", "client_spend"], "why", refuse)
    assert (outcome.success, outcome.job) == (False, "ad_ctr, client_spend")
    entries = registry.entries(outcome.run_id)
    assert [(e.action, e.job) for e in entries] == [
        ("rollback.refused", "ad_ctr"),
        ("rollback.refused", "client_spend"),
    ]
