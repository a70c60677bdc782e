"""The command `test`: linters, types, shell scripts, then the tests; ends at the first that fails."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from cli.entry import CHECKOUT
from jobs.refusals import Refusal

TYPED = ("jobs", "stack", "cli", "plugins/kappa", "dags", "great_expectations", "bench", "tests")
SCRIPTS = ("kappa", ".ci/run")

messages = Console(stderr=True, soft_wrap=True, highlight=False)


class TestsFailed(Refusal):
    """A step of `./kappa test` failed."""

    __test__ = False

    def __init__(self, step: str) -> None:
        super().__init__(f"{step} failed: see its lines above. The steps after it were not run.")


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command("test", context_settings={"allow_extra_args": True})(_test)


def steps(checkout: Path, long: bool, extra: list[str]) -> dict[str, list[str]]:
    """The command of each step, in the order in which they run; folders without Python files are left out."""
    typed = [folder for folder in TYPED if any((checkout / folder).rglob("*.py"))]
    chosen = [] if long else ["-m", "not long"]
    return {
        "ruff check": [_tool("ruff"), "check", "."],
        "ruff format": [_tool("ruff"), "format", "--check", "."],
        "mypy": [_tool("mypy"), *typed],
        "shellcheck": [_tool("shellcheck"), *SCRIPTS],
        "pytest": [sys.executable, "-m", "pytest", *chosen, *extra],
    }


def _test(
    context: typer.Context,
    long: Annotated[bool, typer.Option("--long", help="Add the tests that take longer.")] = False,
) -> None:
    """Run all checks and tests; what follows `--` goes to pytest."""
    for step, command in steps(CHECKOUT, long, context.args).items():
        messages.rule(step, align="left")
        begun = time.monotonic()
        failed = subprocess.run(command, cwd=CHECKOUT).returncode
        messages.print(f"{step}: {'failed' if failed else 'passed'} in {time.monotonic() - begun:.1f} s")
        if failed:
            raise TestsFailed(step)


def _tool(name: str) -> str:
    """A program of the environment that this command runs in."""
    return str(Path(sys.executable).with_name(name))
