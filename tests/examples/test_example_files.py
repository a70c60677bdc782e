"""Each example is read by the code that will read it, and the page of examples names each one."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from cli.commands import client as client_command
from cli.main import application
from examples import every_fate
from examples.demo import replay as demo
from kappa.core.installation.addresses import MissingAddress, PlainAddress
from kappa.core.installation.settings import load
from kappa.core.job_catalog import find, resolve
from kappa.core.requests.fields import read
from kappa.core.requests.reprocessing import ReprocessRequest
from kappa.registry.clients import Client
from oracle.decode import LogRecord, decode
from oracle.fates import Judge, Rules
from traffic.files import records
from traffic.mapping import parse

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
README = (EXAMPLES / "README.md").read_text()
INSTALLATION = EXAMPLES / "installation" / "kappa.toml"


def test_the_page_names_each_example_and_no_other() -> None:
    named = {target.rstrip("/") for target in re.findall(r"\]\(([^).][^)]*)\)", README)}
    there = {str(file.relative_to(EXAMPLES)) for file in EXAMPLES.rglob("*") if file.is_file()}
    folders = {"demo"}
    files = {name for name in there if not re.search(r"__|README|\.pyc", name)}
    assert {name for name in files if name.split("/")[0] not in folders} | folders == named


@pytest.mark.parametrize("command", sorted(set(re.findall(r"\./kappa ([a-z]+(?: list)?)", README))))
def test_the_page_names_commands_that_there_are(command: str) -> None:
    assert CliRunner().invoke(application(), [*command.split(), "--help"]).exit_code == 0


def test_each_record_of_every_fate_has_the_fate_that_the_page_says(tmp_path: Path) -> None:
    job = find("ad_ctr")
    settings = resolve(job, {})
    written = subprocess.run(
        [sys.executable, EXAMPLES / "every_fate.py"], check=True, capture_output=True, text=True
    ).stdout
    assert len(written.splitlines()) == len(every_fate.records(0)) == 8
    file = tmp_path / "every_fate.ndjson"
    file.write_text(written)
    judge = Judge(Rules(
        starts_at=None, allowed_lateness_ms=settings["allowed_lateness_ms"],
        future_bound_ms=settings["future_bound_ms"], click_interval_ms=settings["click_interval_ms"],
    ))  # fmt: skip
    now_ms, fates, micros = time.time_ns() // 1_000_000, list[str](), 0
    for offset, sent in enumerate(records(file, parse([], []), True, lambda line, why: None)):
        record = LogRecord(0, offset, now_ms, True, sent.key, sent.value)
        event = decode(record)
        fates.append(judge.fate(record, event))
        micros += event.cost_micros if fates[-1] == "counted" and not isinstance(event, str) else 0
    assert fates == ["counted"] * 3 + ["duplicate", "repeated_click", "late", "future", "dead_letter"]
    assert f"{micros:,} micros" in README
    assert Counter(fates)["counted"] == 3


class Book:
    """A book of clients that keeps what it is told."""

    put_in: list[tuple[Client, bool]] = []

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn

    def put(self, client: Client, by: object, move_settled: bool) -> None:
        self.put_in.append((client, move_settled))

    def rows(self, client: str | None = None) -> list[Client]:
        return []


@pytest.mark.usefixtures("home")
def test_each_client_is_one_that_the_command_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_command, "ClientBook", Book)
    Book.put_in.clear()
    lines = [line for line in (EXAMPLES / "clients.sh").read_text().splitlines() if line.startswith("./kappa ")]
    commands = typer.Typer()
    client_command.register(commands)
    for line in lines:
        done = CliRunner().invoke(commands, shlex.split(line)[1:])
        assert done.exit_code == 0, (line, done.exception)
    assert [client.client_id for client, _ in Book.put_in] == ["example", "men", "women", "women"]
    assert not any(moved for _, moved in Book.put_in)
    assert subprocess.run(["sh", "-n", EXAMPLES / "clients.sh"], check=False).returncode == 0


def test_the_change_of_a_rule_is_the_one_that_the_demo_replays() -> None:
    asked = read(ReprocessRequest, json.loads((EXAMPLES / "click_interval.json").read_text()))
    shown: Any = demo.request("")
    assert {**vars(asked), "reason": None} == {**vars(shown), "reason": None}
    assert asked.reason


def test_the_installation_is_one_and_names_every_part(tmp_path: Path) -> None:
    settings = load(tmp_path, {"KAPPA_SETTINGS": str(INSTALLATION)})
    assert not settings.is_embedded
    assert "sslmode=verify-full" in settings.dsn("kappa_writer")
    assert "password" not in INSTALLATION.read_text().replace("Passwords", "").lower()


@pytest.mark.parametrize("setting", ["bootstrap", "host", "master", "rest", "ui", "url"])
def test_an_installation_that_leaves_a_part_out_is_refused(setting: str, tmp_path: Path) -> None:
    file = tmp_path / "kappa.toml"
    file.write_text(re.sub(rf"(?m)^{setting} = .*$", "", INSTALLATION.read_text()))
    with pytest.raises(MissingAddress, match=setting):
        load(tmp_path / "state", {"KAPPA_SETTINGS": str(file)})


@pytest.mark.parametrize(
    ("said", "instead", "named"),
    [("https://airflow", "http://airflow", r"airflow\.url"), ("SASL_SSL", "SASL_PLAINTEXT", r"kafka\.protocol")],
)
def test_an_installation_that_would_speak_plainly_is_refused(
    said: str, instead: str, named: str, tmp_path: Path
) -> None:
    file = tmp_path / "kappa.toml"
    file.write_text(INSTALLATION.read_text().replace(said, instead))
    with pytest.raises(PlainAddress, match=named):
        load(tmp_path / "state", {"KAPPA_SETTINGS": str(file)})
