"""`status --job`: what a version runs as, who holds it and how it does, as words, JSON and exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
import typer
from typer.testing import CliRunner, Result

from cli import status_of_job
from cli.commands import stack as commands
from kappa.core.advice.size import Advice, Size
from kappa.core.job_catalog import UnknownJob
from kappa.core.versions import Launch
from tests.rigs.running_stack import Stack

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
ID = UUID(int=7)
VERSION: dict[str, Any] = {
    "version": 1, "state": "LIVE", "desired": "running", "artifact": "ab12", "settings": {"state_partitions": 4},
    "state_partitions": 4, "executor_cores": 2, "generation": 2, "topic": "ad_events", "starts_at": None,
    "created_at": AT, "updated_at": AT, "lag_events": 900, "lag_seconds": 3.5, "complete_through": AT,
    "submission_id": "driver-1", "epoch": 3, "driver_pid": 42, "jvm_pid": 41, "batch_id": 18, "batch_ms": 800,
    "watermark": AT, "watermark_delay_ms": 7_560_000, "state_rows": 1000, "state_bytes": 2_000_000,
    "freshness_seconds": 1.5, "beat_seconds": 0.4,
}  # fmt: skip
GENERATION: dict[str, Any] = {
    "generation": 2, "made_from": 1, "change_id": ID, "state_partitions": 4, "base_batch_id": 17,
    "proof": {"rows": 5}, "made_at": AT,
}  # fmt: skip
LEASE: dict[str, Any] = {
    "version": 1, "run_id": "run-1", "verb": "rescale", "actor": "ada", "reason": "growth", "taken_at": AT,
    "ends_at": AT,
}  # fmt: skip
CHANGE: dict[str, Any] = {
    "change_id": ID, "verb": "rescale", "run_id": "run-1", "desired": "running", "old": {}, "new": {},
    "phase": "held", "marks": {"stopped": "2026-01-31T12:00:09+00:00", "warm": "2026-01-31T12:00:05+00:00"},
    "begun_at": AT,
}  # fmt: skip
BATCHES: list[dict[str, Any]] = [
    {"generation": 2, "batch_id": number, "records": 500, "rows": 20, "committed_at": AT, "gap_ms": 1000}
    for number in (18, 17)
]
RED = {"job": "ad_ctr", "version": 1, "what": "held", "since": AT, "detail": "wanted running, but held"}


class Connection:
    """A connection that answers a statement by the view that it names."""

    def __init__(self, **answers: list[dict[str, Any]]) -> None:
        self.answers = answers
        self._rows: list[dict[str, Any]] = []
        self.unread = [900, 500]

    def execute(self, statement: str, _: Mapping[str, Any]) -> Connection:
        if "select version, lag_events from ops.reach" in statement:
            self._rows = [{"version": 1, "lag_events": self.unread.pop(0)}]
        else:
            view = statement.split("ops.", 1)[1].split()[0]
            self._rows = self.answers.get(view, [])
        return self

    def fetchall(self) -> list[dict[str, Any]]:
        return self._rows


@pytest.fixture
def connection(home: object, monkeypatch: pytest.MonkeyPatch) -> Connection:
    made = Connection(versions=[VERSION], generations=[GENERATION], leases=[LEASE], changes=[CHANGE], batches=BATCHES)
    launch = Launch(ID, "ad_ctr", 1, AT, "driver-1", "driver-1", standby="driver-2", standby_warm_at=AT)

    @contextmanager
    def reading(*_: object) -> Iterator[Connection]:
        yield made

    monkeypatch.setattr("cli.status_of_job.outages.reading", reading)
    registry = SimpleNamespace(open_launch=lambda job, version: launch)
    monkeypatch.setattr(status_of_job, "connect", lambda _: SimpleNamespace(registry=registry))
    advice = Advice("ad_ctr", 1, Size.MORE, "more cores would help (1 s)", {"executor_cores": 4})
    monkeypatch.setattr(status_of_job, "advised", lambda _: [replace(advice, job="quarantine"), advice])
    monkeypatch.setattr("cli.status_of_job.time.sleep", lambda _: None)
    return made


def run(*words: str) -> Result:
    """The command."""
    app = typer.Typer()
    commands.register(app)
    return CliRunner().invoke(app, ["status", *words])


def test_machines_get_all_of_it(connection: Connection) -> None:
    told = json.loads(run("--job", "ad_ctr", "--json").stdout)
    (version,) = told["versions"]
    assert (told["job"], told["red"], version["artifact"], version["lag_trend"]) == ("ad_ctr", [], "ab12", -100.0)
    assert version["launch"] == {
        "launch_id": str(ID), "intended_at": AT.isoformat(), "submission_id": "driver-1", "claimed_by": "driver-1",
        "standby": "driver-2", "standby_warm_at": AT.isoformat(),
    }  # fmt: skip
    assert version["generations"][0]["proof"] == {"rows": 5}
    assert (version["leases"][0]["run_id"], version["change"]["phase"]) == ("run-1", "held")
    assert [batch["batch_id"] for batch in version["batches"]] == [17, 18]
    assert (version["advice"]["job"], version["advice"]["size"]) == ("ad_ctr", "more")


def test_people_read_what_it_runs_as_and_who_holds_it(connection: Connection) -> None:
    words = dict(status_of_job.facts(json.loads(run("--job", "ad_ctr", "--json").stdout)["versions"][0]))
    assert words["generation"] == (
        f"g2, made from g1 with 4 state partitions at 2026-01-31T12:00:00, from batch 17, by change {ID}"
    )
    assert words["held by"] == "rescale of ada (growth), run run-1, until 2026-01-31T12:00:00"
    assert words["change"] == "rescale, phase held, run run-1\nwarm 12:00:05 stopped 12:00:09"
    assert words["unread"] == "900 events, 4 s, shrinking by 100/s"
    assert words["state"] == "1,000 rows, 2,000,000 bytes"
    assert words["advice"] == "more cores would help (1 s)\n./kappa rescale ad_ctr --cores 4"


def test_a_version_that_nothing_is_known_of_yet_is_shown_without_guesses(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_of_job, "advised", lambda _: [])
    unknown = dict.fromkeys(("watermark", "watermark_delay_ms", "state_rows", "state_bytes", "beat_seconds"))
    connection.answers = {"versions": [{**VERSION, **unknown, "generation": 1, "complete_through": None}]}
    words = dict(status_of_job.facts(json.loads(run("--job", "ad_ctr", "--json").stdout)["versions"][0]))
    assert words["generation"] == "g1, written by the version itself"
    assert (words["held by"], words["change"]) == ("nobody", "none under way")
    assert words["advice"] == "none: it does not serve"
    assert (words["driver"], words["unread"]) == ("none has reported", "900 events, 4 s, trend not known")
    assert connection.unread == [900, 500], "nobody reports, so nothing is to be waited for"


@pytest.mark.parametrize(("trend", "word"), [(0.0, "steady"), (12.0, "growing by 12/s"), (-3.0, "shrinking by 3/s")])
def test_the_trend_is_a_word_and_a_number(trend: float, word: str) -> None:
    assert status_of_job.lag({"lag_events": 1, "lag_seconds": 1, "lag_trend": trend}).endswith(word)


def test_a_red_line_is_shown_and_ends_the_command_with_exit_code_1(connection: Connection) -> None:
    connection.answers["red_lines"] = [RED]
    result = run("--job", "ad_ctr", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["red"][0]["what"] == "ad_ctr v1 held: wanted running, but held"


def test_a_red_line_names_its_entry_in_the_runbook_and_what_to_type_first(connection: Connection) -> None:
    connection.answers["red_lines"] = [RED]
    lines = run("--job", "ad_ctr").output.splitlines()
    assert lines[-2].startswith('  docs/runbook.md, "JOB vN held')
    assert lines[-1].startswith("  first: ./kappa ")


def test_a_job_that_is_not_deployed_is_named_with_the_remedy(connection: Connection) -> None:
    connection.answers = {}
    result = run("--job", "ad_ctr")
    assert (result.exit_code, "./kappa deploy ad_ctr" in result.output) == (0, True)


@pytest.mark.usefixtures("home")
def test_an_unknown_job_is_refused() -> None:
    assert isinstance(run("--job", "ad_crt").exception, UnknownJob)


@pytest.mark.integration
def test_a_job_of_the_real_stack_is_shown_in_detail(deployed: Stack) -> None:
    shown = json.loads(deployed.kappa("status", "--job", "ad_ctr", "--json", expect=None).out)
    (version,) = shown["versions"]
    assert (version["version"], version["state"], version["desired"]) == (1, "LIVE", "running")
    assert version["launch"]["claimed_by"] == version["submission_id"]
    assert version["lag_trend"] is not None
