"""The commands `secrets list` and `secrets rotate`: what the embedded stack's parts know each other by."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.table import Table

from cli.entry import CHECKOUT, settings
from cli.options import Json
from cli.output import err, out
from stack import rotation
from stack.layout import Layout
from stack.rotation import Secret

secrets = typer.Typer(help="Passwords and keys of the embedded stack: list, rotate.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.add_typer(secrets, name="secrets")


@secrets.command("list")
def list_secrets(as_json: Json = False) -> None:
    """Show each secret: its file, who goes by it, how old it is, and when a new one would count. Shows none itself."""
    found = list(rotation.known(Layout(settings(), CHECKOUT)))
    if as_json:
        typer.echo(json.dumps([_json(secret) for secret in found], indent=2))
        return
    table = Table("secret", "of", "days old", "a new one counts")
    for secret in found:
        table.add_row(secret.name, secret.holders, _days(secret), secret.effect)
    out.print(table)


@secrets.command("rotate")
def rotate(
    names: Annotated[list[str], typer.Argument(metavar="SECRET...", help="Names that './kappa secrets list' shows.")],
) -> None:
    """Replace secrets by new ones, one after the other, while jobs run where that can be; no record is lost.

    What a server does not take keeps its old secret, and the command ends with what the server said.
    """
    layout = Layout(settings(), CHECKOUT)
    for name in names:
        made = rotation.rotate(layout, name)
        err.print(f"{name}: a new one is in {made.file}; it counts {made.effect}", soft_wrap=True)


def _days(secret: Secret) -> str:
    return "not made yet" if secret.made_at is None else str((datetime.now(UTC) - secret.made_at).days)


def _json(secret: Secret) -> dict[str, str | None]:
    made = secret.made_at
    return {
        "name": secret.name,
        "file": str(secret.file),
        "of": secret.holders,
        "made_at": made.isoformat() if made else None,
        "counts": str(secret.effect),
    }
