"""Processes of a peer: started with the stack's mark, so that they are measured with it and end with it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from stack.layout import MARKER

_READING = re.compile(r"^READING (\d+)$", re.MULTILINE)
"""What each peer prints when it takes its first record: epoch ms."""
END_SECONDS = 20


class PeerEnded(Refusal):
    """A peer's process ended by itself."""

    def __init__(self, name: str, code: int, log: Path) -> None:
        super().__init__(f"the process '{name}' ended with {code}; {log} says why. Nothing more was measured of it.")


@dataclass
class Process:
    """One process, what it prints in a log of its own; `argv[0]` must be an absolute path."""

    settings: Settings
    name: str
    argv: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    _running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; what an earlier one printed stays in the log."""
        environment = {**os.environ, **self.environment, MARKER: str(self.settings.home)}
        with self.log.open("ab") as out:
            self._running = subprocess.Popen(
                self.argv,
                env=environment,
                # Flink takes a folder `plugins` of where it is started for its own.
                cwd=self.log.parent,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )

    def check(self) -> None:
        """Raises PeerEnded."""
        if self._running is not None and (code := self._running.poll()) is not None:
            raise PeerEnded(self.name, code, self.log)

    def ended(self, within: float) -> int | None:
        """Its exit code; None: it did not end within so many seconds."""
        assert self._running is not None, "it was never started"
        try:
            return self._running.wait(within)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """kill -9, and nothing waits for what it had in hand."""
        assert self._running is not None, "it was never started"
        self._running.send_signal(signal.SIGKILL)
        self._running.wait()

    def stop(self) -> None:
        """Ask it to end, and kill it if it does not; one that was never started is let be."""
        if self._running is None or self._running.poll() is not None:
            return
        self._running.terminate()
        try:
            self._running.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def reading_ms(self) -> int | None:
        """When it first took a record (epoch ms), as it printed; None: not yet."""
        found = _READING.search(self.log.read_text(errors="replace")) if self.log.exists() else None
        return int(found[1]) if found else None
