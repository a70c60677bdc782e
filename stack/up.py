"""Brings the stack up: checks first, then starts what is missing and waits until each part really works."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from functools import partial
from pathlib import Path

from kappa.core.installation.settings import Settings
from kappa.core.store.s3 import Bucket
from stack import disk, leftovers, port_check, superuser_rotation
from stack.exclusion import exclusive
from stack.layout import Layout
from stack.programs import LONGEST_START_SECONDS, NotHealthy, Program
from stack.provisioning import log_access
from stack.services import (
    airflow,
    airflow_pools,
    class_archive,
    jars,
    kafka,
    monitor,
    passwords,
    postgres,
    readiness,
    spark,
    spark_jar,
)
from stack.supervision import Supervisor
from stack.waiting import until

Echo = Callable[[str], None]
MakeTopic = Callable[[Settings], None]


class Provision(StrEnum):
    """What makes the log's topic, Kafka's users and their rights."""

    BUILT_IN = "built-in"
    TERRAFORM = "terraform"


def up(
    settings: Settings, checkout: Path, echo: Echo = print, provision: Provision = Provision.BUILT_IN
) -> dict[str, float]:
    """Start what does not run, wait until all is healthy; returns the seconds of each part and the `total`.

    Harmless when the stack is up. Raises DiskFull, NoJava, Busy, PortTwice, PortTaken,
    JarUnreachable, JarDamaged, NotHealthy, PoolsRefused, NoAddress, PlainTarget; Refusal for
    a user that Postgres cannot run as, or a topic of another shape. With Terraform NoTerraform, NoGo, NotBuilt, too,
    before anything is started, and TerraformFailed.
    """
    layout, begun = Layout(settings, checkout), time.monotonic()
    make_topic = _topic_maker(layout, provision, echo)
    programs = readiness.programs(layout)
    _check_targets(settings)
    port_check.check_distinct(settings.ports)
    disk.check(settings.home)
    postgres.check_reach(layout)
    with exclusive(settings.home):
        supervisor = Supervisor(layout)
        _check_ports(layout, supervisor, programs)
        _prepare(layout, supervisor.running(), echo)
        _supervise(supervisor, programs, echo)
        seconds = _start(layout, supervisor, make_topic, echo)
    seconds["total"] = time.monotonic() - begun
    echo(f"the stack is up after {seconds['total']:.1f} s")
    return seconds


def _check_targets(settings: Settings) -> None:
    from stack.alerts import targets  # takes a quarter of a second, which a command that starts nothing would pay, too

    targets.read(settings)


def _topic_maker(layout: Layout, provision: Provision, echo: Echo) -> MakeTopic:
    """What makes the topic once the broker is there. Raises NoTerraform, NoGo, NotBuilt."""
    if provision is Provision.BUILT_IN:
        return kafka.ensure_topic
    return partial(log_access.apply, log_access.target(layout, echo))


def _check_ports(layout: Layout, supervisor: Supervisor, programs: list[Program]) -> None:
    """Ports of programs that do not run must be free; what a lost supervisor left behind is ended first."""
    if not supervisor.running():
        leftovers.end(leftovers.marked(layout.home))
    ours = {process.pid for process in leftovers.marked(layout.home)}
    port_check.check_free(port_check.uses(layout.settings.ports, programs), ours)


def _prepare(layout: Layout, runs: bool, echo: Echo) -> None:
    """Folders, passwords and jars."""
    layout.home.chmod(layout.home.stat().st_mode | 0o111)
    for folder in (layout.logs, layout.run, layout.spark):
        folder.mkdir(exist_ok=True, mode=0o700)
    passwords.make(layout.settings)
    begun = time.monotonic()
    fetched = _fetch_jars(layout, runs)
    class_archive.begin(layout)
    if fetched:
        echo(f"{'jars':<10} {fetched / 1e6:.0f} MB downloaded in {time.monotonic() - begun:.1f} s")


def _fetch_jars(layout: Layout, runs: bool) -> int:
    """The jars that this installation needs, and no others unless something runs by them; the bytes that came."""
    folders = {"broker": layout.broker_jars, "spark": layout.settings.jars}
    if isinstance(layout.settings.store.store, Bucket):
        folders["s3"] = layout.settings.jars
    wanted = jars.read()
    fetched = jars.fetch(wanted, jars.repository(layout.environment), layout.jar_cache, folders)
    if not runs:
        jars.leave_only(wanted, folders)
    spark_jar.put(layout.settings.jars)
    return fetched


def _supervise(supervisor: Supervisor, programs: list[Program], echo: Echo) -> None:
    if not supervisor.running():
        supervisor.start(programs)
    elif supervisor.outdated(programs):
        echo("the settings have changed since the start: './kappa down' and './kappa up' put them into force")


def _start(layout: Layout, supervisor: Supervisor, make_topic: MakeTopic, echo: Echo) -> dict[str, float]:
    """The three independent chains at the same time; the first failure is raised when all have ended. What watches
    them comes last: a part that is being started is no incident."""
    seconds: dict[str, float] = {}

    def timed(part: str, step: Callable[[Layout, Supervisor], bool]) -> None:
        begun = time.monotonic()
        started = step(layout, supervisor)
        seconds[part] = time.monotonic() - begun
        echo(f"{part:<10} {'ready after' if started else 'was up, checked in'} {seconds[part]:.1f} s")

    def stores_then_airflow() -> None:
        timed("postgres", _postgres)
        timed("airflow", _airflow)

    with ThreadPoolExecutor(3) as pool:
        chains = [
            pool.submit(timed, "kafka", partial(_kafka, make_topic=make_topic)),
            pool.submit(timed, "spark", _spark),
            pool.submit(stores_then_airflow),
        ]
    for chain in chains:
        chain.result()
    timed("monitor", _monitor)
    return seconds


def _kafka(layout: Layout, supervisor: Supervisor, make_topic: MakeTopic) -> bool:
    kafka.prepare(layout, spark.java(layout))
    started = supervisor.begin([kafka.NAME])
    _wait(layout, supervisor, [kafka.NAME], lambda: kafka.healthy(layout.settings))
    make_topic(layout.settings)
    return bool(started)


def _postgres(layout: Layout, supervisor: Supervisor) -> bool:
    postgres.prepare(layout)
    started = supervisor.begin([postgres.NAME])
    _wait(layout, supervisor, [postgres.NAME], lambda: superuser_rotation.settled(layout.settings))
    postgres.ensure_roles(layout.settings)
    _migrate(layout.settings)
    return bool(started)


def _migrate(settings: Settings) -> None:
    from stack import schema  # Alembic takes half a second

    schema.migrate(settings)


def _spark(layout: Layout, supervisor: Supervisor) -> bool:
    started = supervisor.begin(readiness.SPARK)
    _wait(layout, supervisor, readiness.SPARK, lambda: spark.healthy(layout.settings))
    return bool(started)


def _airflow(layout: Layout, supervisor: Supervisor) -> bool:
    airflow.prepare(layout)
    airflow.migrate(layout)
    started = supervisor.begin(readiness.AIRFLOW)
    since = {process.name: process.started for process in supervisor.processes()}
    _wait(layout, supervisor, readiness.AIRFLOW, lambda: airflow.healthy(layout.settings, since))
    airflow_pools.ensure(layout.settings)
    return bool(started)


def _monitor(layout: Layout, supervisor: Supervisor) -> bool:
    started = supervisor.begin([monitor.NAME])
    _wait(layout, supervisor, [monitor.NAME], lambda: monitor.healthy(layout.settings))
    return bool(started)


def _wait(layout: Layout, supervisor: Supervisor, names: Iterable[str], healthy: Callable[[], bool]) -> None:
    """Until the part is healthy, or the supervisor has given up one of its processes. Raises NotHealthy."""

    def settled() -> bool:
        return healthy() or bool(_given_up(supervisor, names))

    in_time = until(settled, LONGEST_START_SECONDS)
    if lost := _given_up(supervisor, names):
        raise NotHealthy(lost, "ends again and again", layout.logs / f"{lost}.log")
    if not in_time:
        name = next(iter(names))
        raise NotHealthy(name, f"was not healthy within {LONGEST_START_SECONDS} s", layout.logs / f"{name}.log")


def _given_up(supervisor: Supervisor, names: Iterable[str]) -> str | None:
    return next((p.name for p in supervisor.processes() if p.name in names and p.state == "FATAL"), None)
