"""A small stack of its own, of Kafka and Postgres only: for benches and for the rigs of the tests."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import fields, replace
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from bench.report import say
from cli.entry import CHECKOUT
from kappa.core.installation.embedded import Ports
from kappa.core.installation.settings import Settings, load
from stack import schema
from stack.down import down
from stack.layout import Layout
from stack.programs import NotHealthy, Program
from stack.services import class_archive, jars, kafka, passwords, postgres, spark, spark_jar
from stack.services.passwords import SUPERUSER
from stack.supervision import Supervisor
from stack.waiting import until
from tests.rigs import plain_passwords

PATIENCE_SECONDS = 180
QUICK = {"fsync": "off", "full_page_writes": "off", "scram_iterations": "1"}
"""Of Postgres: what outlives a kill of it, as it does without these, need not outlive the machine; and a password that
is made and asked for hundreds of times is hashed once each time."""


@contextmanager
def small_stack(
    partitions: int,
    broker_environment: Mapping[str, str] | None = None,
    keep: bool = False,
    disks: Callable[[Layout], AbstractContextManager[object]] = nullcontext,
) -> Iterator[Layout]:
    """Kafka with the topic, and Postgres with the schema, on ports and folders of their own; ended and, unless kept,
    deleted afterwards. `broker_environment` is added to that of the broker's process, and `disks` are there for as long
    as anything runs. Raises NotHealthy."""
    with folder(partitions, keep, disks) as layout:
        _start(layout, broker_environment or {})
        yield layout


@contextmanager
def small_cluster() -> Iterator[Layout]:
    """Spark's master and worker alone, on ports and folders of their own; ended and deleted afterwards. Raises
    NotHealthy."""
    with folder(1) as layout:
        start_cluster(layout)
        yield layout


def start_cluster(layout: Layout) -> None:
    """Start Spark's master and worker, of a stack that is down. Raises NotHealthy."""
    prepare(layout)
    programs = spark.programs(layout, spark.java(layout))
    supervisor = Supervisor(layout)
    supervisor.start(programs)
    supervisor.begin(program.name for program in programs)
    if not until(lambda: spark.healthy(layout.settings), PATIENCE_SECONDS):
        log = layout.logs / f"{spark.MASTER}.log"
        raise NotHealthy(spark.MASTER, f"was not healthy within {PATIENCE_SECONDS} s", log)


@contextmanager
def folder(
    partitions: int,
    keep: bool = False,
    disks: Callable[[Layout], AbstractContextManager[object]] = nullcontext,
) -> Iterator[Layout]:
    """A stack's folder with nothing in it; what runs at the end is ended, and all of it, unless kept, deleted."""
    made = Path(tempfile.mkdtemp(prefix="kappa-small-"))
    made.chmod(0o755)
    (made / "kappa.toml").write_text(_toml(partitions))
    layout = Layout(load(made / "state"), CHECKOUT)
    try:
        with disks(layout):
            try:
                yield layout
            finally:
                down(layout.settings, CHECKOUT, say)
    finally:
        if keep:
            say(f"kept: {made}")
        else:
            shutil.rmtree(made, ignore_errors=True)


def _start(layout: Layout, broker_environment: Mapping[str, str]) -> None:
    """Start both parts and make topic, roles and schema. Raises NotHealthy."""
    settings, java = layout.settings, spark.java(layout)
    postgres.check_reach(layout)
    prepare(layout)
    of_broker, of_postgres = kafka.program(layout, java), postgres.program(layout)
    options = [word for name, value in QUICK.items() for word in ("-c", f"{name}={value}")]
    programs = [
        replace(of_broker, environment={**of_broker.environment, **broker_environment}),
        replace(of_postgres, command=(*of_postgres.command, *options)),
    ]
    supervisor = Supervisor(layout)
    supervisor.start(programs)
    kafka.prepare(layout, java)
    plain_passwords.sign_in_by(layout)
    postgres.prepare(layout)
    supervisor.begin(program.name for program in programs)
    _await_healthy(layout, programs)
    kafka.ensure_topic(settings)
    _hash_once(settings)
    postgres.ensure_roles(settings)
    schema.migrate(settings)


def _hash_once(settings: Settings) -> None:
    """Have the superuser's password, which was made before QUICK was in force, hashed as those of the others."""
    word = sql.Literal(passwords.password(settings, SUPERUSER))
    with psycopg.connect(settings.dsn(SUPERUSER, "postgres"), autocommit=True, connect_timeout=10) as connection:
        connection.execute(sql.SQL("alter role {} password {}").format(sql.Identifier(SUPERUSER), word))


def prepare(layout: Layout) -> None:
    """Folders, passwords and jars, as for the whole stack."""
    for folder in (layout.home, layout.logs, layout.run, layout.spark):
        folder.mkdir(parents=True, exist_ok=True)
    passwords.make(layout.settings)
    folders = {"broker": layout.broker_jars, "spark": layout.settings.jars}
    jars.fetch(jars.read(), jars.repository(layout.environment), layout.jar_cache, folders)
    spark_jar.put(layout.settings.jars)
    class_archive.name(layout)


def _await_healthy(layout: Layout, programs: list[Program]) -> None:
    questions = {kafka.NAME: kafka.healthy, postgres.NAME: postgres.healthy}
    for program in programs:
        healthy = questions[program.name]
        if not until(lambda healthy=healthy: healthy(layout.settings), PATIENCE_SECONDS):  # type: ignore[misc]
            log = layout.logs / f"{program.name}.log"
            raise NotHealthy(program.name, f"was not healthy within {PATIENCE_SECONDS} s", log)


def _toml(partitions: int) -> str:
    names = [field.name for field in fields(Ports)]
    ports = "\n".join(f"{name} = {port}" for name, port in zip(names, free_ports(len(names)), strict=True))
    return f"[ports]\n{ports}\n[topic]\npartitions = {partitions}\n"


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now, each another."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


@contextmanager
def standing_still(parts: Layout, name: str) -> Iterator[None]:
    """A part and all its processes are stopped while the body runs."""
    (found,) = (p for p in Supervisor(parts).processes() if p.name == name)
    parent = psutil.Process(found.pid)
    with _stopped([parent, *parent.children(recursive=True)]):
        yield


@contextmanager
def suspended(parts: Layout) -> Iterator[None]:
    """The supervisor alone is stopped while the body runs."""
    process = Supervisor(parts).process()
    assert process is not None, "there is no supervisor"
    with _stopped([process]):
        yield


@contextmanager
def _stopped(processes: Iterable[psutil.Process]) -> Iterator[None]:
    """Of Postgres a process may end by itself between being listed and being stopped."""
    stopped = []
    with ExitStack() as held:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.suspend()
                held.callback(process.resume)
                stopped.append(process)
        assert until(lambda: all(map(_does_nothing, stopped)), PATIENCE_SECONDS), f"they go on: {stopped}"
        yield


def _does_nothing(process: psutil.Process) -> bool:
    """Stopped, or at its end."""
    with suppress(psutil.NoSuchProcess):
        return process.status() in {psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE}
    return True
