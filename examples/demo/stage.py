"""What both halves of the demo stand on: the stack, what was played, the screen, the checks, and what was measured."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, RenderableType
from rich.live import Live

from cli.operator_connection import Reading
from examples.demo import served
from examples.demo.play import Laid
from examples.demo.served import Totals
from kappa.core.installation.settings import Settings
from stack.footprint import memory_bytes

PLAIN_SECONDS = 15.0
"""Without a terminal, a line is printed no more often than this."""
err = Console(stderr=True, highlight=False, soft_wrap=True)


@dataclass
class Measured:
    """Seconds that each part took, and the most memory that the stack was seen to take (bytes)."""

    seconds: dict[str, float] = field(default_factory=dict)
    memory: int = 0

    @contextmanager
    def of(self, part: str) -> Iterator[None]:
        """Time a part."""
        begun = time.monotonic()
        yield
        self.seconds[part] = time.monotonic() - begun

    def weigh(self, settings: Settings) -> None:
        """Look at the stack's memory."""
        self.memory = max(self.memory, memory_bytes(settings.home))


@dataclass(frozen=True)
class Stage:
    """A stack that serves. `expected` is what the log's files add up to, `before` what each view served of the log's
    campaigns before this play, `yes` whether the demo answers its own question."""

    settings: Settings
    reader: Reading
    laid: Laid
    expected: Totals
    before: dict[str, Totals]
    measured: Measured
    yes: bool

    def campaigns(self, view: str) -> Totals:
        """What a view serves of this play's log."""
        return served.difference(served.campaigns(self.reader, view), self.before[view])

    def played(self) -> Totals:
        """What the minutes since the play began serve, the traffic beside among it."""
        return served.played(self.reader, self.laid.first_window_ms, served.EVER_MS)

    def check(self) -> None:
        """Pass when both views serve what the log's files add up to. Raises NumbersDiffer."""
        for view in served.VIEWS:
            served.check(view, self.expected, self.campaigns(view))


class Screen:
    """The newest of what there is to see: on a terminal in place, elsewhere a plain line now and then."""

    def __init__(self, live: Live) -> None:
        self._live, self._begun, self._told = live, time.monotonic(), 0.0

    def show(self, rendered: RenderableType, plain: str) -> None:
        """Show it."""
        now = time.monotonic()
        self._live.update(rendered)
        if not err.is_terminal and now - self._told > PLAIN_SECONDS:
            self._told = now
            err.print(f"after {now - self._begun:.0f} s: {plain}", markup=False)


@contextmanager
def screen() -> Iterator[Screen]:
    """A screen that is gone afterwards."""
    with Live(console=err, refresh_per_second=4, transient=True) as live:
        yield Screen(live)
