"""Takes the stack down: what writes first, the stores last and cleanly, and checks that nothing is left."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from stack import leftovers
from stack.exclusion import exclusive
from stack.layout import Layout
from stack.services import readiness
from stack.services.postgres import OWNER
from stack.supervision import Supervisor

KEPT = ("uv", "uv.new", "cache", "jars", "lock")
"""What a wipe leaves: downloads, and the lock that it holds."""
ENTRIES = (
    "airflow", "alerts", "artifacts", "checkpoints", "environments", "kafka", "live_validations", "logs", "postgres",
    "run", "spark", "terraform", "validations", "work", "secrets",
)  # fmt: skip
"""What a stack keeps in its state folder. A wipe takes the secrets last, since by them it knows its own folder."""


class NotOurs(Refusal):
    """The folder to be wiped is not, or not only, the state folder of a stack."""

    def __init__(self, home: Path, why: str) -> None:
        super().__init__(
            f"{home} is not deleted: {why}. Nothing was stopped or deleted. If KAPPA_HOME names the wrong folder, "
            "correct it; else move what is yours elsewhere, or delete the folder by hand."
        )


def down(settings: Settings, checkout: Path, echo: Callable[[str], None] = print) -> None:
    """Stop every process of the stack, streams too. Harmless when it is down. Raises Busy; Refusal for any left."""
    if not settings.home.exists():
        echo("the stack is down: there is no state folder")
        return
    layout, begun = Layout(settings, checkout), time.monotonic()
    with exclusive(settings.home):
        ended = _stop(layout)
    echo(f"the stack is down after {time.monotonic() - begun:.1f} s: {ended} processes ended, none is left")


def wipe(settings: Settings, checkout: Path, echo: Callable[[str], None] = print) -> None:
    """`down`, then delete the state: the log, all rows, checkpoints, passwords. Downloads are kept. Raises NotOurs."""
    check_ours(settings)
    down(settings, checkout, echo)
    if not settings.home.exists():
        return
    with exclusive(settings.home):
        for name in ENTRIES:
            _remove(settings.home / name)
    echo(f"the data in {settings.home} is deleted")


def check_ours(settings: Settings) -> None:
    """Pass for a state folder with nothing else in it, and for one without any state. Raises NotOurs."""
    found = {entry.name for entry in settings.home.iterdir()} if settings.home.exists() else set()
    if strange := sorted(found - {*ENTRIES, *KEPT}):
        raise NotOurs(settings.home, f"{', '.join(strange)} in it belongs to no stack")
    if found & set(ENTRIES) and not settings.passfile(OWNER).exists():
        raise NotOurs(settings.home, f"it lacks {settings.passfile(OWNER)}, which every stack has")


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink(missing_ok=True)


def _stop(layout: Layout) -> int:
    """Returns the number of processes that were ended."""
    supervisor = Supervisor(layout)
    keeper = supervisor.process()
    ours = leftovers.marked(layout.home) | leftovers.family([keeper] if keeper else [])
    for names in readiness.STOP_ORDER:
        if keeper:
            stores = _stores(supervisor)
            supervisor.stop(names)
            leftovers.end(leftovers.alive(ours | leftovers.marked(layout.home)) - stores - {keeper})
    if keeper:
        supervisor.shutdown()
    leftovers.end(leftovers.alive(ours | leftovers.marked(layout.home)))
    if left := leftovers.alive(ours | leftovers.marked(layout.home)):
        pids = ", ".join(map(str, sorted(process.pid for process in left)))
        raise Refusal(
            f"these processes of the stack are still there: {pids}. "
            "They do not answer a kill; look at them with ps, then run './kappa down' again."
        )
    return len(ours)


def _stores(supervisor: Supervisor) -> set[psutil.Process]:
    """The processes of Kafka and Postgres, which must not be signalled while something still writes."""
    pids = [process.pid for process in supervisor.processes() if process.name in readiness.STORES and process.pid]
    return leftovers.family([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)])
