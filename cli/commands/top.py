"""`top`: the streams on one screen that lives."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from cli import entry, output
from cli.top_screen import Beside, screen
from kappa.console import advice, findings, numbers
from kappa.console.database import Database
from kappa.console.now import Now
from kappa.console.snapshots import Snapshots
from kappa.core.advice.load import free_of
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.platform import cluster_of

SPAN = "15m"
SECONDS = 1.0
ASIDE_SECONDS = 5.0
"""How old may be what takes long to be told."""
MASTER_SECONDS = 4.0


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("top")(_top)


def _top(
    once: Annotated[bool, typer.Option("--once", help="One screen, and the end; so it is without a terminal.")] = False,
) -> None:
    """Show what the streams do and the newest numbers, again each second, until it is ended by Ctrl-C."""
    once = once or not output.out.is_terminal
    drawn = drawing(entry.settings(), wait=once)
    if once:
        output.out.print(drawn())
        return
    try:
        live(output.out, drawn, time.sleep)
    except KeyboardInterrupt:
        return


class Aside:
    """Something that may take seconds to be read: at each look there is what was read last, and it is read again beside
    the screen once that is so many seconds old. What is refused is not known."""

    def __init__(
        self, read: Callable[[], Any], seconds: float = ASIDE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read, self._seconds, self._clock = read, seconds, clock
        self._held: Any = None
        self._until: float | None = None
        self._reader: threading.Thread | None = None

    def value(self, wait: bool = False) -> Any:
        """What was read last, None where nothing is known; `wait`: what is being read now."""
        is_read = self._reader is not None and self._reader.is_alive()
        if not is_read and (self._until is None or self._clock() >= self._until):
            self._reader = threading.Thread(target=self._look, daemon=True)
            self._reader.start()
        if wait and self._reader is not None:
            self._reader.join()
        return self._held

    def _look(self) -> None:
        try:
            self._held = self._read()
        except Refusal:
            self._held = None
        self._until = self._clock() + self._seconds


def drawing(settings: Settings, wait: bool = False) -> Callable[[], RenderableType]:
    """Draws what is so now: one screen at each call. The first numbers of latency come with the second; what the
    monitor and the cluster tell with a later one, unless it is to `wait` for them."""
    database, snapshots = Database(settings), Snapshots()
    now, chosen = Now(database, settings), numbers.choice(SPAN, "", "")

    found = Aside(lambda: findings.told(settings))
    cluster = cluster_of(settings, MASTER_SECONDS)
    free = Aside(lambda: free_of(lambda: cluster.capacity().to_json()))

    def draw() -> RenderableType:
        read: dict[str, Any] = snapshots.get("numbers", lambda: numbers.read(database, chosen), 5).value
        held = free.value(wait)
        sizes = snapshots.get("advice", lambda: advice.read(database, held), 10).value["advice"]
        return screen(now.read(), read, Beside(found.value(wait), sizes))

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
