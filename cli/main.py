"""The entry point of `./kappa`: gathers the verb families and turns refusals into one sentence on stderr."""

from __future__ import annotations

import importlib
import sys

import typer
from rich.console import Console
from rich.markup import escape

from kappa.core.refusals import Refusal

FAMILIES = (
    "stack", "demo", "testing", "traffic", "lifecycle", "sizing", "mending", "replaying", "promoting", "retiring",
    "pinning", "releases", "history", "client", "truth", "lineage",
)  # fmt: skip

app = typer.Typer(
    name="kappa",
    help="Kappa Ads: live ad CTR and advertiser spend, exact to the micro-unit.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for family in FAMILIES:
    importlib.import_module(f"cli.{family}").register(app)


def main() -> None:
    """Run one command; a Refusal ends it with its message and exit code 1."""
    try:
        app(prog_name="./kappa")
    except Refusal as refusal:
        Console(stderr=True, soft_wrap=True).print(f"[bold red]error:[/] {escape(str(refusal))}", highlight=False)
        sys.exit(1)


if __name__ == "__main__":
    main()
