"""`top`: the streams on one screen that lives."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from cli import entry, output
from cli.top_screen import screen
from kappa.console import numbers
from kappa.console.database import Database
from kappa.console.now import Now
from kappa.console.snapshots import Snapshots
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal

SPAN = "15m"
SECONDS = 1.0


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("top")(_top)


def _top(
    once: Annotated[bool, typer.Option("--once", help="One screen, and the end; so it is without a terminal.")] = False,
) -> None:
    """Show what the streams do and the newest numbers, again each second, until it is ended by Ctrl-C."""
    drawn = drawing(entry.settings())
    if once or not output.out.is_terminal:
        output.out.print(drawn())
        return
    try:
        live(output.out, drawn, time.sleep)
    except KeyboardInterrupt:
        return


def drawing(settings: Settings) -> Callable[[], RenderableType]:
    """Draws what is so now: one screen at each call. The first numbers of latency come with the second."""
    database, snapshots = Database(settings), Snapshots()
    now, chosen = Now(database, settings), numbers.choice(SPAN, "", "")

    def draw() -> RenderableType:
        read: dict[str, Any] = snapshots.get("numbers", lambda: numbers.read(database, chosen), 5).value
        return screen(now.read(), read)

    return draw


def live(console: Console, draw: Callable[[], RenderableType], sleep: Callable[[float], None]) -> None:
    """Draw again and again. What is refused is told above the last screen, and asked again: a screen that somebody
    left open comes back with Postgres."""
    last: RenderableType = ""
    with Live("", console=console, screen=True, auto_refresh=False) as shown:
        while True:
            try:
                last = draw()
                shown.update(last, refresh=True)
            except Refusal as refusal:
                told = Text.from_markup(f"[bold red]not read:[/] {escape(str(refusal))}")
                shown.update(Group(told, last), refresh=True)
            sleep(SECONDS)
