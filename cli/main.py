"""The entry point of `./kappa`: gathers the commands and turns refusals into one sentence on stderr."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from cli import entry
from cli.entry import CHECKOUT
from kappa.core.refusals import Refusal
from kappa.core.store.location import StoreAway

COMMANDS = {
    "stack": ("up", "down", "status"), "top": ("top",), "alerts": ("alerts",), "releases": ("releases",),
    "login": ("login", "logout", "whoami"), "audit": ("audit",), "explain": ("explain",), "reconcile": ("reconcile",),
    "client": ("client",), "produce": ("produce",), "db": ("db",), "secrets": ("secrets",), "doctor": ("doctor",),
    "test": ("test",), "lifecycle.deploy": ("build", "deploy", "stop", "start"), "lifecycle.rescale": ("rescale",),
    "lifecycle.repair": ("repair",), "lifecycle.reprocess": ("reprocess",),
    "lifecycle.promote": ("promote", "rollback"), "lifecycle.retire": ("retire",), "lifecycle.pin": ("pin",),
}  # fmt: skip
"""The modules of cli.commands, and the commands of each; one more module is the demo's."""
MODULES = {
    **{"cli.commands." + module: names for module, names in COMMANDS.items()},
    "examples.demo.command": ("demo",),
}


class UnreadableArgument(Refusal):
    """An argument is not text: its bytes are not UTF-8."""

    def __init__(self, number: int, argument: str) -> None:
        super().__init__(
            f"argument {number}, {os.fsencode(argument)!r}, is not UTF-8, as all text here is. Nothing was done. "
            "Give it in UTF-8 (a terminal's locale may be another: `locale`), or in ASCII."
        )


def application(arguments: Sequence[str] = ()) -> typer.Typer:
    """The command line: all commands, or only those of the module with the one that the arguments begin with, since
    an answer within two seconds has no time to import the others."""
    app = typer.Typer(
        name="kappa",
        help="Kappa Ads: live ad CTR and advertiser spend, exact to the micro-unit.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(of_all)
    for module in _modules(arguments):
        importlib.import_module(module).register(app)
    return app


def _modules(arguments: Sequence[str]) -> list[str]:
    """The module with the command that comes first; all of them where an option does, or an unknown word."""
    first = next(iter(arguments), "")
    return [module for module, names in MODULES.items() if first in names] or list(MODULES)


def of_all(
    target: Annotated[
        str | None, typer.Option("--target", metavar="NAME", help="Act on the installation of targets/NAME/kappa.toml.")
    ] = None,
) -> None:
    """Kappa Ads: live ad CTR and advertiser spend, exact to the micro-unit."""
    if target is not None:
        entry.choose_target(target, CHECKOUT, os.environ)


def main() -> None:
    """Run one command; a Refusal, or a store that is away, ends it with its message and exit code 1."""
    try:
        _check_text(sys.argv[1:])
        application(sys.argv[1:])(prog_name=os.environ.get("KAPPA_COMMAND", "./kappa"))
    except (Refusal, StoreAway) as refusal:
        Console(stderr=True, soft_wrap=True).print(f"[bold red]error:[/] {escape(str(refusal))}", highlight=False)
        sys.exit(1)


def _check_text(arguments: Sequence[str]) -> None:
    """Raises UnreadableArgument for the first one with bytes that Python could not decode."""
    for number, argument in enumerate(arguments, 1):
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            raise UnreadableArgument(number, argument) from error


if __name__ == "__main__":
    main()
