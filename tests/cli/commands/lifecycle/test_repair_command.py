"""`repair`: of the jobs named or of all, through Airflow or in place, its findings printed first."""

from __future__ import annotations

import json
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from cli.commands.lifecycle import repair
from cli.follow import Outcome
from kappa.core.audit import Author
from kappa.core.refusals import Refusal
from kappa.platform import Platform
from kappa.verbs.repair import checkpoint as checkpoint_steps
from tests.plugins.fake_releases import FakeReleases
from tests.plugins.fakes import FakeCluster, FakeLog, FakeRegistry

pytestmark = pytest.mark.usefixtures("home")


class Plan:
    """What was found of a job, or of all."""

    def __init__(self, job: str | None) -> None:
        self.job = job

    def rows(self) -> list[tuple[str, str]]:
        return [(self.job or "every job", "has no driver")]

    def to_json(self) -> dict[str, Any]:
        return {"job": self.job}


@pytest.fixture
def platform(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Platform:
    """Fakes behind the command; giving back leases does nothing."""
    registry = FakeRegistry()
    made = Platform(
        settings,
        registry,
        FakeCluster(registry),
        FakeLog({0: 0}, {0: []}).opened,
        registry.clock,
        FakeReleases(registry),
    )
    monkeypatch.setattr(repair, "connect", lambda _: made)
    monkeypatch.setattr(repair, "plan_repair", lambda _, job: Plan(job))
    monkeypatch.setattr("cli.run_verb.lease.release", lambda *_: None)
    return made


@pytest.fixture
def sent(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """The runs that were asked for, each of which succeeds."""
    asked: list[tuple[str, Any]] = []

    def by_airflow(_: object, dag_id: str, forms: dict[str, Any]) -> list[Outcome]:
        asked.append((dag_id, dict(forms)))
        return [Outcome(job, "run-1", True, f"{job} is in order.") for job in forms]

    monkeypatch.setattr(repair, "by_airflow", by_airflow)
    return asked


def run(*words: str) -> Result:
    """The command."""
    app = typer.Typer()
    repair.register(app)
    return CliRunner().invoke(app, list(words))


def test_without_a_job_one_run_looks_after_all(sent: list[tuple[str, Any]]) -> None:
    result = run("--reason", "red")
    assert sent == [("repair_stream", {"all": {"job": None, "reason": "red", "dry_run": False}})]
    assert "every job" in result.output
    assert "all is in order." in result.output


def test_each_job_named_is_repaired_once(sent: list[tuple[str, Any]]) -> None:
    told = json.loads(run("ad_ctr", "quarantine", "ad_ctr", "--json").stdout)
    assert {name: form["job"] for name, form in sent[0][1].items()} == {"ad_ctr": "ad_ctr", "quarantine": "quarantine"}
    assert [outcome["job"] for outcome in told] == ["ad_ctr", "quarantine"]


def test_a_dry_run_prints_the_findings_and_sends_nothing(sent: list[tuple[str, Any]]) -> None:
    assert json.loads(run("ad_ctr", "--dry-run", "--json").stdout) == [{"job": "ad_ctr"}]
    assert sent == []


def test_without_airflow_the_plan_is_carried_out_here(
    sent: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str | None, str | None]] = []

    def carry_out(_: Platform, plan: Plan, by: Author) -> str:
        done.append((plan.job, by.reason))
        return "started again."

    monkeypatch.setattr(repair, "carry_out", carry_out)
    assert run("ad_ctr", "--reason", "red", "--without-airflow").exit_code == 0
    assert (done, sent) == ([("ad_ctr", "red")], [])


def test_what_may_not_be_repaired_ends_with_exit_code_1_and_is_in_the_audit(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> str:
        raise Refusal("a rescale holds it.")

    monkeypatch.setattr(repair, "carry_out", refuse)
    result = run("ad_ctr", "--without-airflow", "--json")
    (told,) = json.loads(result.stdout)
    assert (result.exit_code, told["success"], told["sentence"]) == (1, False, "a rescale holds it.")
    assert [entry.action for entry in platform.registry.entries(told["run_id"])] == ["repair.refused"]


@pytest.fixture
def restored(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The jobs whose checkpoint was restored, each in place and under a lease."""
    done: list[str] = []

    def in_place(_: object, verb: str, jobs: list[str], reason: str | None, act: Any) -> list[Outcome]:
        assert (verb, reason, act) == ("repair", "disk", checkpoint_steps.carry_out)
        done.extend(jobs)
        return [Outcome(job, "run-1", True, f"{job} is restored.") for job in jobs]

    monkeypatch.setattr(repair, "in_place", in_place)
    monkeypatch.setattr(checkpoint_steps, "plan_restore", lambda _, job: Plan(job))
    return done


def test_checkpoints_are_restored_in_place_and_nothing_else_is_repaired(
    sent: list[tuple[str, Any]], restored: list[str]
) -> None:
    assert run("ad_ctr", "quarantine", "ad_ctr", "--checkpoint", "--reason", "disk").exit_code == 0
    assert (restored, sent) == (["ad_ctr", "quarantine"], [])


def test_a_dry_run_of_a_restoration_prints_it_and_changes_nothing(restored: list[str]) -> None:
    assert json.loads(run("ad_ctr", "--checkpoint", "--dry-run", "--json").stdout) == [{"job": "ad_ctr"}]
    assert restored == []


def test_whose_checkpoint_is_to_be_restored_has_to_be_said(restored: list[str]) -> None:
    result = run("--checkpoint", "--reason", "disk")
    assert (result.exit_code, restored) == (2, [])
    assert "needs the JOB" in result.output
