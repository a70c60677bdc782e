"""`top`: it draws again each second, and a screen that was left open comes back with Postgres."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console, RenderableType
from typer.testing import CliRunner

from cli.commands.top import SECONDS, Aside, drawing, live
from cli.main import application
from kappa.console.database import NotReadable
from kappa.core.installation.embedded import Ports
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from tests.rigs.rig import Rig


class SeenError(Exception):
    """Ends a screen that would live for ever."""


def test_a_refusal_is_told_above_the_last_screen_and_asked_again() -> None:
    slept: list[float] = []
    screens: Iterator[RenderableType | Refusal] = iter(["first", Refusal("Postgres is [away]"), "third"])

    def draw() -> RenderableType:
        shown = next(screens)
        if isinstance(shown, Refusal):
            raise shown
        return shown

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            raise SeenError

    console = Console(file=io.StringIO(), force_terminal=True, width=80, height=20, legacy_windows=False)
    with pytest.raises(SeenError):
        live(console, draw, sleep)
    file = console.file
    assert isinstance(file, io.StringIO)
    shown = file.getvalue()
    assert shown.count("first") == 2, "what was read last stays below the refusal"
    assert "Postgres is [away]" in shown
    assert "third" in shown
    assert slept == [SECONDS] * 3


def test_what_is_read_aside_keeps_nobody_waiting_and_is_read_again_later() -> None:
    asked, answered = threading.Event(), threading.Event()
    told: Iterator[str | Refusal] = iter(["first", Refusal("it is away"), "third"])

    def read() -> str:
        value = next(told)
        asked.set()
        answered.wait(10)
        if isinstance(value, Refusal):
            raise value
        return value

    now = [0.0]
    aside = Aside(read, 5.0, lambda: now[0])
    assert aside.value() is None
    assert asked.wait(10)
    assert aside.value() is None, "it is still being read"
    answered.set()
    assert aside.value(wait=True) == "first"
    now[0] = 4.0
    assert aside.value(wait=True) == "first"
    now[0] = 9.5
    aside.value(wait=True)
    assert aside.value() is None, "what was refused is not known"
    now[0] = 20.0
    assert aside.value(wait=True) == "third"


def test_without_postgres_one_screen_is_a_refusal(tmp_path: Path) -> None:
    with pytest.raises(NotReadable, match="gave no answer"):
        drawing(Settings(tmp_path, ports=Ports(postgres=1)))()


def test_without_a_terminal_there_is_one_screen_and_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.commands.top.drawing", lambda settings, wait: lambda: "the one screen")
    monkeypatch.setenv("KAPPA_HOME", str(tmp_path / "state"))
    done = CliRunner().invoke(application(), ["top"])
    assert (done.exit_code, done.output) == (0, "the one screen\n")


@pytest.mark.rig
def test_a_screen_is_drawn_of_what_a_real_postgres_holds(cases: Rig) -> None:
    settings = cases.case("ad_ctr", "quarantine").settings
    console = Console(file=io.StringIO(), width=100)
    console.print(drawing(settings, wait=True)())
    file = console.file
    assert isinstance(file, io.StringIO)
    assert "of parts, disk, clocks and backlogs nothing is known: the monitor does not answer" in file.getvalue()
    assert [line for line in file.getvalue().splitlines() if "ad_ctr v1" in line and "LIVE" in line]
