"""The lifecycle commands without a stack: artifacts are built once, and what is not there is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from cli.commands.lifecycle import deploy, reprocess
from kappa.core.job_catalog import JobSettingOutOfRange, UnknownJob, UnknownJobSetting
from kappa.unavailable import Unreachable

pytestmark = pytest.mark.usefixtures("home")


def run(*words: str) -> Result:
    """The command."""
    app = typer.Typer()
    deploy.register(app)
    reprocess.register(app)
    return CliRunner().invoke(app, list(words))


def test_building_twice_makes_one_artifact(home: Path) -> None:
    first = json.loads(run("build", "--json").stdout)
    assert "was there already" in run("build").output
    listed = json.loads(run("build", "--list", "--json").stdout)
    assert [artifact["digest"] for artifact in listed] == [first["digest"]]
    assert (home / "artifacts" / first["digest"] / "jobs" / "run.py").exists()


def test_an_unknown_job_is_refused_before_anything_is_built(home: Path) -> None:
    assert isinstance(run("deploy", "ad_crt").exception, UnknownJob)
    assert not (home / "artifacts").exists()


@pytest.mark.parametrize(
    ("given", "refusal"),
    [("cadence_ms=60001", JobSettingOutOfRange), ("cadence_ms=x", JobSettingOutOfRange), ("pace=1", UnknownJobSetting)],
)
@pytest.mark.parametrize("verb", ["deploy", "reprocess"])
def test_a_setting_that_may_not_be_so_is_refused_before_anything_is_built(
    home: Path, verb: str, given: str, refusal: type[Exception]
) -> None:
    assert isinstance(run(verb, "ad_ctr", "--set", given).exception, refusal)
    assert not (home / "artifacts").exists()


@pytest.mark.parametrize("given", ["cadence_ms", "=5", "cadence_ms="])
def test_a_setting_is_key_and_value(given: str) -> None:
    assert isinstance(run("deploy", "ad_ctr", "--set", given).exception, deploy.NotKeyValue)


def test_without_a_stack_the_remedies_are_named() -> None:
    refusal = run("deploy", "ad_ctr", "--dry-run").exception
    assert isinstance(refusal, Unreachable)
    assert "./kappa up starts it; elsewhere ./kappa doctor" in str(refusal)
