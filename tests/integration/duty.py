"""A running stack whose monitor tells a receiver, and a Prometheus beside it, for tests of who is told what."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from kappa.status.causes import MEANINGS, Cause
from stack.alerts import prometheus_rules
from stack.services import monitor
from tests.integration.injected import kill_and_await
from tests.rigs.figures import Figure, note
from tests.rigs.prometheus import PROMETHEUS, firing, scraping
from tests.rigs.running_stack import Stack
from tests.stack.alerts.receiver import Receiver, put_address, receiver

DUTY = "duty"
ROOM_BYTES = 1_500_000_000
"""So much is free beyond what the monitor holds for nearly full."""


@dataclass(frozen=True)
class Watched:
    """A stack whose monitor tells a receiver; `alerts` is the URL of the Prometheus that scrapes it, where there is
    one."""

    stack: Stack
    duty: Receiver
    alerts: str | None = None

    def fires(self, cause: Cause) -> bool:
        """Whether the alert of a cause fires in Prometheus now."""
        return self.alerts is not None and prometheus_rules.alert_name(cause) in firing(self.alerts)

    def told(self, cause: Cause, before: int, word: str) -> bool:
        """Whether after its first `before` messages it was told that it is `red`, or `over`."""
        return any(title.startswith(f"{word}: {MEANINGS[cause].title}") for title in self.duty.titles[before:])

    def of(self, cause: Cause, before: int) -> list[dict[str, str]]:
        """All messages of a cause after the first `before`."""
        return [message for message in self.duty.told[before:] if MEANINGS[cause].title in message["title"]]

    def see(self, cause: Cause, before: int, word: str, is_red: Callable[[], bool] | None, seconds: float) -> str:
        """Wait until it was told that it is `red`, or `over`, until its alert fires, or no longer, where there is a
        Prometheus, and until it has a red line, or none, where one is asked for: what was seen after how long."""
        begun, after, fires = time.monotonic(), dict[str, float](), word == "red"
        looks: dict[str, Callable[[], bool]] = {f"told {word}": lambda: self.told(cause, before, word)}
        if is_red:
            looks["red line"] = lambda: is_red() is fires
        if self.alerts:
            looks["alert"] = lambda: self.fires(cause) is fires

        def all_seen() -> bool:
            for what in [what for what, look in looks.items() if what not in after and look()]:
                after[what] = time.monotonic() - begun
            return len(after) == len(looks)

        self.stack.until(f"{cause}: {', '.join(looks)}", all_seen, seconds)
        if fires and "red line" in after:
            note({Figure.RED: after["red line"]})
        return ", ".join(f"{what} after {second:.1f} s" for what, second in after.items())


@contextmanager
def watching(stack: Stack) -> Iterator[Watched]:
    """The monitor is started again for it, and again at the end with the settings that there were."""
    file = stack.settings.home.parent / "kappa.toml"
    before = file.read_text()
    free_mb = (shutil.disk_usage(stack.settings.home).free - ROOM_BYTES) // 1_000_000
    with receiver() as duty, tempfile.TemporaryDirectory() as folder:
        put_address(stack.settings.secrets, DUTY, duty.url)
        file.write_text(f'{before}[alerts]\ntargets = ["{DUTY}"]\ndisk_free_mb = {free_mb}\n')
        kill_and_await(stack, monitor.NAME)
        port = stack.settings.ports.monitor
        try:
            with scraping(Path(folder), port) if PROMETHEUS.exists() else nullcontext() as alerts:
                yield Watched(stack, duty, alerts)
        finally:
            file.write_text(before)
            kill_and_await(stack, monitor.NAME)
