"""`audit`: the newest entries, oldest first, in words for people and whole for machines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner, Result

from cli import output
from cli.commands import audit
from kappa.core.refusals import Refusal
from tests.rigs.running_stack import Stack

NEWEST: dict[str, Any] = {
    "at": datetime(2026, 1, 31, 12, 5, tzinfo=UTC), "actor": "ada", "action": "rescale.done", "job": "ad_ctr",
    "version": 1, "run_id": "run-2", "reason": "[more] events",
    "evidence": {"sentence": "ad_ctr v1 has 4 state partitions.", "proof": {"rows": 7}},
}  # fmt: skip
OLDER: dict[str, Any] = {
    "at": datetime(2026, 1, 31, 12, 0, tzinfo=UTC), "actor": "bob", "action": "client.set", "job": None,
    "version": None, "run_id": "run-1", "reason": None, "evidence": {},
}  # fmt: skip


class Connection:
    """A connection that answers every statement with these rows and keeps what it was asked for."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        self.asked: dict[str, Any] = {}

    def execute(self, _: str, values: Mapping[str, Any]) -> Connection:
        self.asked = dict(values)
        return self

    def fetchall(self) -> list[dict[str, Any]]:
        return self.rows


@pytest.fixture
def connection(home: object, monkeypatch: pytest.MonkeyPatch) -> Connection:
    made = Connection([NEWEST, OLDER])

    @contextmanager
    def looking(_: object) -> Iterator[Connection]:
        yield made

    monkeypatch.setattr(audit, "looking", looking)
    return made


def run(*words: str) -> Result:
    """The command."""
    app = typer.Typer()
    audit.register(app)
    return CliRunner().invoke(app, list(words))


def test_machines_get_the_whole_evidence_newest_last(connection: Connection) -> None:
    told = json.loads(run("--json").stdout)
    assert [entry["action"] for entry in told] == ["client.set", "rescale.done"]
    assert told[1] == {**NEWEST, "at": "2026-01-31T12:05:00+00:00"}


def test_what_is_asked_for_is_narrowed_in_the_database(connection: Connection) -> None:
    run("--job", "ad_ctr", "--run", "run-2", "--last", "5", "--json")
    assert connection.asked == {"job": "ad_ctr", "run": "run-2", "last": 5}
    run("--json")
    assert connection.asked == {"job": None, "run": None, "last": 20}


def test_people_read_who_did_what_why_and_what_came_of_it(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "out", Console(highlight=False, width=output.WIDE))
    audit.audit()
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert lines[3:5] == [
        ["2026-01-31 12:00:00", "bob", "client.set", "", "", ""],
        ["2026-01-31 12:05:00", "ada", "rescale.done", "ad_ctr v1", "[more] events", NEWEST["evidence"]["sentence"]],
    ]


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        ({"why": "no heartbeat", "sentence": "It was undone."}, "It was undone."),
        ({"change_id": "7", "why": "", "rule": "no batch of the new generation"}, "no batch of the new generation"),
        ({"lease_seconds": 900}, ""),
    ],
)
def test_the_most_telling_words_of_the_evidence_are_shown(evidence: dict[str, Any], words: str) -> None:
    assert audit.told(evidence) == words


def test_no_entry_is_said_in_words(connection: Connection) -> None:
    connection.rows = []
    assert "no such entry" in run("--job", "ad_crt").output


def test_less_than_one_entry_cannot_be_asked_for(connection: Connection) -> None:
    assert run("--last", "0").exit_code == 2


@pytest.mark.usefixtures("home")
def test_without_a_stack_the_remedy_is_named() -> None:
    refusal = run().exception
    assert isinstance(refusal, Refusal)
    assert "./kappa up starts it" in str(refusal)


@pytest.mark.integration
def test_a_deployment_is_in_the_audit_of_the_real_stack(deployed: Stack) -> None:
    told = json.loads(deployed.kappa("audit", "--job", "ad_ctr", "--last", "200", "--json").out)
    done = [entry for entry in told if entry["action"] == "deploy.done"]
    assert done[0]["reason"] == "test"
    assert done[0]["evidence"]["plan"]["wanted"]["job"] == "ad_ctr"
    of_run = json.loads(deployed.kappa("audit", "--run", done[0]["run_id"], "--json").out)
    assert {entry["run_id"] for entry in of_run} == {done[0]["run_id"]}
