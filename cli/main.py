"""The entry point of `./kappa`: gathers the commands and turns refusals into one sentence on stderr."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from cli import entry
from cli.entry import CHECKOUT
from kappa.core.refusals import Refusal

LIFECYCLE = ("deploy", "rescale", "repair", "reprocess", "promote", "retire", "pin")
OTHERS = (
    "top", "alerts", "releases", "login", "audit", "explain", "reconcile", "client", "produce", "db", "secrets",
    "doctor", "test",
)  # fmt: skip
COMMANDS = (
    "cli.commands.stack", "examples.demo.command",
    *(f"cli.commands.lifecycle.{verb}" for verb in LIFECYCLE), *(f"cli.commands.{command}" for command in OTHERS),
)  # fmt: skip

app = typer.Typer(
    name="kappa",
    help="Kappa Ads: live ad CTR and advertiser spend, exact to the micro-unit.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def of_all(
    target: Annotated[
        str | None, typer.Option("--target", metavar="NAME", help="Act on the installation of targets/NAME/kappa.toml.")
    ] = None,
) -> None:
    """Kappa Ads: live ad CTR and advertiser spend, exact to the micro-unit."""
    if target is not None:
        entry.choose_target(target, CHECKOUT, os.environ)


for command in COMMANDS:
    importlib.import_module(command).register(app)


def main() -> None:
    """Run one command; a Refusal ends it with its message and exit code 1."""
    try:
        app(prog_name=os.environ.get("KAPPA_COMMAND", "./kappa"))
    except Refusal as refusal:
        Console(stderr=True, soft_wrap=True).print(f"[bold red]error:[/] {escape(str(refusal))}", highlight=False)
        sys.exit(1)


if __name__ == "__main__":
    main()
