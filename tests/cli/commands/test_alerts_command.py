"""`alerts list` and `alerts test`, and that `up` starts nothing where a target cannot be told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.commands.alerts import NobodyIsTold
from cli.main import application
from kappa.core.installation.settings import load
from kappa.status.causes import Cause
from stack.alerts.incidents import Book, Incident
from stack.alerts.memory import Memory, MemoryFile
from stack.alerts.outbox import Letter
from stack.alerts.targets import NoAddress
from stack.up import up
from tests.cli.test_targets import ELSEWHERE
from tests.stack.alerts.receiver import SECRET, Receiver, put_address, receiver

OPEN = Incident(4, Cause.SILENT, ("ad_ctr v1",), ("ad_ctr v1 silent: no heartbeat",), 1_790_000_000, 1_790_000_015, 0)
AWAY = Incident(5, Cause.POSTGRES, ("postgres",), ("postgres does not answer",), 1_790_000_000, 1_790_000_015, 0)
LATE = Letter("duty", 4, False, "red: no driver reports: ad_ctr v1", "", 1_790_000_015, 1_790_000_030, 3)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder whose settings name one target."""
    made = tmp_path / "state"
    made.mkdir()
    (tmp_path / "kappa.toml").write_text('[alerts]\ntargets = ["duty"]\n')
    monkeypatch.setenv("KAPPA_HOME", str(made))
    return made


@pytest.fixture
def hook(home: Path) -> Iterator[Receiver]:
    """That target is a webhook on loopback."""
    with receiver() as made:
        put_address(home / "secrets", "duty", made.url)
        yield made


def test_a_test_message_arrives(hook: Receiver) -> None:
    done = CliRunner().invoke(application(), ["alerts", "test"])
    assert (done.exit_code, done.output) == (0, "taken: duty\n")
    assert hook.titles == ["test: nothing is wrong"]


def test_what_a_target_said_instead_is_shown_and_fails(hook: Receiver) -> None:
    hook.status = 500
    done = CliRunner().invoke(application(), ["alerts", "test"])
    assert done.exit_code == 1
    assert done.output.startswith("not taken: duty: ")
    assert "500" in done.output
    assert SECRET not in done.output


def test_nobody_to_test_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAPPA_HOME", str(tmp_path / "state"))
    done = CliRunner().invoke(application(), ["alerts", "test"])
    assert isinstance(done.exception, NobodyIsTold)


def test_what_is_open_and_what_is_on_its_way_is_listed(home: Path) -> None:
    file = MemoryFile(home)
    file.folder.mkdir()
    file.write(Memory(Book((OPEN,), (), 4), (LATE,)))
    shown = CliRunner().invoke(application(), ["alerts", "list"]).output
    for words in (
        "no driver reports",
        "ad_ctr v1",
        "2026-09-21 14:13:20 UTC",
        "./kappa repair ad_ctr --dry-run",
        "duty",
    ):
        assert words in shown
    assert "nobody watches" in shown
    told = json.loads(CliRunner().invoke(application(), ["alerts", "list", "--json"]).output)
    assert told["watched"] is False
    assert [incident["cause"] for incident in told["book"]["open"]] == ["silent"]
    assert told["outbox"][0]["tries"] == 3


@pytest.mark.parametrize(
    ("addresses", "watches", "starts"),
    [("", "./kappa up", "./kappa up"), (ELSEWHERE, "./kappa alerts run", "./kappa doctor")],
)
def test_only_the_embedded_stack_is_started_by_up(
    home: Path, monkeypatch: pytest.MonkeyPatch, addresses: str, watches: str, starts: str
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    (home.parent / "kappa.toml").write_text('[alerts]\ntargets = ["duty"]\n' + addresses)
    file = MemoryFile(home)
    file.folder.mkdir()
    file.write(Memory(Book((AWAY,), (), 5), ()))
    lines = CliRunner().invoke(application(), ["alerts", "list"]).output.splitlines()
    assert any("Postgres is away" in line and starts in line for line in lines)
    assert f"nobody watches: no monitor runs; '{watches}' starts it" in lines


def test_with_nothing_open_it_says_so_and_who_watches(home: Path) -> None:
    with MemoryFile(home).held():
        shown = CliRunner().invoke(application(), ["alerts", "list"]).output
    assert shown == "no incident is open\n"


def test_up_starts_nothing_where_a_target_has_no_address(home: Path) -> None:
    with pytest.raises(NoAddress):
        up(load(home), Path(__file__).resolve().parents[3], print)
    assert list(home.iterdir()) == []
