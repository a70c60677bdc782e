"""A notifier that tells a webhook, the time between whose looks is not real; looks to show it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kappa.core.installation.alerts import Alerts
from kappa.core.installation.settings import Settings
from stack.alerts import targets
from stack.alerts.judge import Judge
from stack.alerts.memory import MemoryFile
from stack.alerts.notifier import Notifier
from stack.alerts.wording import Installation
from stack.monitor.look import Look
from stack.monitor.registry import Registry
from tests.stack.alerts.receiver import Receiver, put_address

NIGHT = 1_790_000_000.0
"""2026-09-21 14:13:20 UTC."""
SILENT = {
    "what": "ad_ctr v1 silent: wanted running, but no heartbeat for 30 s", "since": "2026-09-21T14:12:50+00:00",
    "line": "silent", "of": "ad_ctr v1",
}  # fmt: skip
WELL = Look(NIGHT, registry=Registry())
RED = replace(WELL, red=[SILENT])


class Watch:
    """A notifier whose only target is the webhook, and looks five seconds apart."""

    def __init__(self, home: Path, hook: Receiver, **alerts: str) -> None:
        self.settings = Settings(home, alerts=Alerts(targets=("duty",), **alerts))  # type: ignore[arg-type]
        put_address(self.settings.secrets, "duty", hook.url)
        self.at = NIGHT
        self.start()

    def start(self) -> None:
        """A new process of the notifier."""
        told = targets.read(self.settings)
        here, file = Installation("here", self.settings.is_embedded), MemoryFile(self.settings.home)
        judge = Judge(self.settings.alerts.disk_free_mb, self.settings.airflow_url, file.read().starts)
        self.notifier = Notifier(self.settings.alerts, here, told, file, judge)

    def see(self, seconds: float, seen: Look) -> None:
        """Nothing else is there for so long."""
        until = self.at + seconds
        while self.at < until:
            self.notifier.take(replace(seen, at=self.at))
            self.notifier.deliver(self.at)
            self.at += 5
