"""A program of the stack as a value, and the failure that names one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kappa.core.refusals import Refusal

LONGEST_START_SECONDS = 300
"""So long after its start a program works, also beside much else; what needs one waits for as long."""


@dataclass(frozen=True)
class Program:
    """A process that the supervisor keeps: `name` is also its log file's; `ports` are names of settings.

    `whole_group`: a stop signals all its descendants too. `patience`: seconds from the signal to the kill.
    `uses_store`: it has the keys of the bucket that checkpoints lie in.
    """

    name: str
    command: tuple[str, ...]
    directory: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[str, ...] = ()
    user: str | None = None
    stop_signal: str = "TERM"
    whole_group: bool = True
    patience: int = 15
    uses_store: bool = False


class NotHealthy(Refusal):
    """A part of the stack did not become healthy in time, or its process ends again and again."""

    def __init__(self, part: str, problem: str, log: Path) -> None:
        tail = "\n  ".join(_last_lines(log))
        super().__init__(
            f"{part} {problem}. Its log is {log}; the last lines are:\n  {tail}\n"
            "The other parts were left as they are: correct the cause, then run './kappa up' again."
        )


def _last_lines(log: Path, count: int = 8) -> list[str]:
    """The end of a log file, at most 4 KB of it."""
    if not log.exists():
        return ["(no log)"]
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 4096))
        return file.read().decode(errors="replace").splitlines()[-count:] or ["(empty)"]
