"""The command `doctor` shows what was tried, and ends with 1 where anything is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from cli.commands import doctor
from cli.doctor.trial import Trial, Wrong, carry_out
from kappa.core.installation.settings import load


def _wrong() -> str:
    raise Wrong("it is broken", "Mend it.")


@pytest.fixture
def app(home: Path, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """The command, for which one of two trials fails."""

    class Part:
        @staticmethod
        def trials(_: object) -> list[Trial]:
            return [Trial("this", "one thing", lambda: "fine"), Trial("that", "another", _wrong)]

    assert home
    monkeypatch.setattr(doctor, "PARTS", (Part,))
    app = typer.Typer()
    doctor.register(app)
    return app


def test_what_is_wrong_is_shown_with_its_remedy_and_the_command_ends_with_1(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, [])
    assert done.exit_code == 1
    for words in ("one thing", "fine", "it is broken", "Mend it.", "1 of 2 things are wrong"):
        assert words in done.output


def test_for_machines_each_trial_is_an_object(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, ["--json"])
    assert json.loads(done.stdout) == [
        {"part": "this", "tried": "one thing", "ok": True, "found": "fine"},
        {"part": "that", "tried": "another", "ok": False, "wrong": "it is broken", "remedy": "Mend it."},
    ]


def test_what_no_rule_foresaw_is_a_finding_too(home: Path) -> None:
    tried = [carry_out(trial) for trial in doctor.trials(load(home))]
    assert {one.part for one in tried if one.finding} == {"host", "Postgres", "Kafka", "Spark", "Airflow"}


def test_on_a_host_of_one_role_nothing_is_tried_that_goes_by_another_s_secret(home: Path) -> None:
    settings = load(home)
    everything = {one.what for one in doctor.trials(settings)}
    settings.secrets.mkdir(parents=True, exist_ok=True)
    (settings.secrets / "host").write_text("w1=spark_worker\n")
    tried = {one.what for one in doctor.trials(settings)}
    assert {what for what in tried if what.startswith(("role ", "user "))} == {"role kappa_writer", "user kafka_stream"}
    assert {"schema", "clock", "clients' time zones", "requests with our key", "topic ad_events"} <= everything - tried
    assert {"workers", "parts", "requests of strangers"} <= tried
