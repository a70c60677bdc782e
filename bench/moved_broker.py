"""A small stack of its own, of Kafka and Postgres only, whose broker's clock can be moved: libfaketime in its JVM."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path

from bench.report import say
from cli.entry import CHECKOUT
from jobs.refusals import Refusal
from jobs.settings import Ports, load
from stack import broker, cluster, jars, passwords, postgres, schema
from stack.down import down
from stack.layout import Layout
from stack.programs import NotHealthy, Program
from stack.supervision import Supervisor
from stack.waiting import until

FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local/lib")
LIBRARIES = ("libfaketimeMT.so.1", "libfaketime.so.1")
"""The first is made for threads: the other one's threads share the buffer that the offset is read into."""
PATIENCE_SECONDS = 180


class NoFaketime(Refusal):
    """libfaketime is not installed."""

    exit_code = 2

    def __init__(self) -> None:
        super().__init__(
            f"{LIBRARIES[0]} was not found below {', '.join(FOLDERS)}. Install it (on Debian and Ubuntu: apt install "
            "faketime) or name it with --library; nothing was started."
        )


@dataclass(frozen=True)
class BrokerClock:
    """The file that libfaketime reads at each question for the time: an offset in seconds."""

    file: Path

    def set_behind(self, seconds: int) -> None:
        """From now on the broker's clock goes `seconds` behind this machine's; the file is replaced whole."""
        new = self.file.with_suffix(".new")
        new.write_text(f"-{seconds}\n" if seconds else "+0\n")
        new.replace(self.file)


def library(given: Path | None) -> Path:
    """The library to preload. Raises NoFaketime."""
    if given is not None:
        found = [given.absolute()] if given.is_file() else []
    else:
        found = [file for name in LIBRARIES for folder in FOLDERS for file in _within(folder, name)]
    if not found:
        raise NoFaketime
    return found[0]


def _within(folder: str, name: str) -> list[Path]:
    """Directly below, or below the folder of an architecture."""
    return [file for pattern in ("faketime", "*/faketime") for file in Path(folder).glob(f"{pattern}/{name}")]


def preload(to_load: Path, clock: BrokerClock) -> dict[str, str]:
    """The environment that moves a JVM's clock: wall clock only, since its waits go by the monotonic one."""
    return {
        "LD_PRELOAD": str(to_load),
        "FAKETIME_TIMESTAMP_FILE": str(clock.file),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }


@contextmanager
def moved_stack(
    to_load: Path, partitions: int, behind_seconds: int, keep: bool
) -> Iterator[tuple[Layout, BrokerClock]]:
    """Kafka with its clock `behind_seconds` behind, and Postgres with the schema; ended and, unless kept, deleted."""
    folder = Path(tempfile.mkdtemp(prefix="kappa-bench-"))
    folder.chmod(0o755)
    (folder / "kappa.toml").write_text(_toml(partitions))
    layout = Layout(load(folder / "state"), CHECKOUT)
    clock = BrokerClock(folder / "clock")
    clock.set_behind(behind_seconds)
    try:
        _start(layout, to_load, clock)
        yield layout, clock
    finally:
        down(layout.settings, CHECKOUT, say)
        if keep:
            say(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _start(layout: Layout, to_load: Path, clock: BrokerClock) -> None:
    """Start both parts and make topic, roles and schema. Raises NotHealthy."""
    settings, java = layout.settings, cluster.java(layout)
    postgres.check_reach(layout)
    _prepare(layout)
    programs = [
        replace(broker.program(layout, java), environment=preload(to_load, clock)),
        postgres.program(layout),
    ]
    supervisor = Supervisor(layout)
    supervisor.start(programs)
    broker.prepare(layout, java)
    postgres.prepare(layout)
    supervisor.begin(program.name for program in programs)
    _await_healthy(layout, programs)
    broker.ensure_topic(settings)
    postgres.ensure_roles(settings)
    schema.migrate(settings)


def _prepare(layout: Layout) -> None:
    """Folders, passwords and jars, as for the whole stack."""
    for folder in (layout.home, layout.logs, layout.run, layout.spark):
        folder.mkdir(parents=True, exist_ok=True)
    passwords.make(layout.settings)
    folders = {"broker": layout.broker_jars, "spark": layout.settings.jars}
    jars.fetch(jars.read(), jars.repository(layout.environment), layout.jar_cache, folders)


def _await_healthy(layout: Layout, programs: list[Program]) -> None:
    questions = {broker.NAME: broker.healthy, postgres.NAME: postgres.healthy}
    for program in programs:
        healthy = questions[program.name]
        if not until(lambda healthy=healthy: healthy(layout.settings), PATIENCE_SECONDS):  # type: ignore[misc]
            log = layout.logs / f"{program.name}.log"
            raise NotHealthy(program.name, f"was not healthy within {PATIENCE_SECONDS} s", log)


def _toml(partitions: int) -> str:
    names = [field.name for field in fields(Ports)]
    ports = "\n".join(f"{name} = {port}" for name, port in zip(names, _free_ports(len(names)), strict=True))
    return f"[ports]\n{ports}\n[topic]\npartitions = {partitions}\n"


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now, each another."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
