"""The command line imports what the command needs: all modules for the help, one for a command that is named."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest
import typer

from cli.entry import CHECKOUT
from cli.main import MODULES, application, main
from kappa.core.spark_environment import search_path

SLOW = ("alembic", "sqlalchemy", "apprise")
"""What takes longest to import, and is of use only to a command that starts or changes something."""


@pytest.mark.parametrize("module", MODULES)
def test_a_module_registers_the_commands_that_are_told_of_it_and_no_others(module: str) -> None:
    app = typer.Typer()
    app.callback()(lambda: None)
    importlib.import_module(module).register(app)
    assert set(typer.main.get_command(app).commands) == set(MODULES[module])  # type: ignore[attr-defined]


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--target", "compose", "status"], ["no-such-command"]])
def test_every_command_is_known_where_no_command_comes_first(arguments: list[str]) -> None:
    known = typer.main.get_command(application(arguments)).commands  # type: ignore[attr-defined]
    assert set(known) == {name for names in MODULES.values() for name in names}


@pytest.mark.parametrize("given", [["stop", "ad_ctr", "--reason", "caf\udce9"], ["caf\udce9"]])
def test_an_argument_that_is_not_utf_8_is_refused_by_its_bytes(
    given: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["./kappa", *given])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert f"argument {len(given)}, b'caf\\xe9', is not UTF-8" in capsys.readouterr().err


def test_status_waits_for_no_library_that_it_has_no_use_for() -> None:
    code = (
        "import sys\nfrom cli.main import application\napplication(['status'])\n"
        f"print(set({SLOW!r}) & sys.modules.keys())"
    )
    environment = {**os.environ, "PYTHONPATH": search_path(CHECKOUT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "set()", done.stdout
