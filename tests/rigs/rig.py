"""Rig R1: the real query, sink and driver's program over a real log and a real database, in one warm Spark session.

A case has a topic, a database and checkpoints of its own, so that nothing of one test is seen by another.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import psycopg
from psycopg import sql

from jobs.driver import execution, heartbeat, watcher
from kappa.core.installation.settings import Settings, load
from stack import schema
from stack.layout import Layout
from stack.services import jars, kafka, postgres, spark_jar
from stack.services.passwords import SUPERUSER
from stack.services.postgres import OWNER
from tests.rigs.case import Case
from tests.rigs.staged_driver import stage

TEMPLATE = "rig_template"
CADENCE = {"cadence_ms": 100}
QUICK = "[supervision]\nmax_restarts = 50\nstarts_in_vain = 50\n"


@dataclass(frozen=True)
class Rig:
    """Makes cases on real parts; all their files are in one folder. Their drivers use the session of this process."""

    parts: Layout
    folder: Path
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def case(self, *jobs: str, partitions: int = 2, **settings: int) -> Case:
        """A case with an empty log and one version of each job (ad_ctr where none is named) that serves all windows."""
        return self._case(jobs, partitions, settings)

    def case_in(self, store: str, *jobs: str, partitions: int = 2, **settings: int) -> Case:
        """As `case`, but its checkpoints lie in this store (the setting, with `{}` for the folder)."""
        return self._case(jobs, partitions, settings, store)

    def _case(self, jobs: Sequence[str], partitions: int, settings: Mapping[str, int], store: str = "") -> Case:
        name = f"case_{next(self._numbers)}"
        own = _settings_of_case(self.parts, self.folder / name, name, partitions, store.format(name))
        layout = Layout(own, self.parts.checkout)
        copy_database(layout.settings, TEMPLATE, name)
        kafka.ensure_topic(layout.settings)
        case = Case(layout)
        for job in jobs or ("ad_ctr",):
            case.versions[job] = stage(layout, job, {**CADENCE, **settings})
        return case


def rig_on(parts: Layout, folder: Path) -> Rig:
    """The rig on these parts; the database that all cases are copied from is made here."""
    template = replace(parts.settings, database=TEMPLATE)
    postgres.ensure_roles(template)
    schema.migrate(template)
    for module, name, seconds in (
        (execution, "POLL_SECONDS", 0.1),
        (watcher, "LOOK_SECONDS", 0.25),
        (heartbeat, "BEAT_SECONDS", 0.25),
    ):
        vars(module)[name] = seconds
    return Rig(parts, folder)


def copy_database(settings: Settings, source: str, name: str) -> None:
    """A copy of a database that nobody is connected to, with the rights of the stack's own."""
    with psycopg.connect(settings.dsn(SUPERUSER, "postgres"), autocommit=True, connect_timeout=10) as connection:
        names = map(sql.Identifier, (name, source, OWNER))
        connection.execute(sql.SQL("create database {} template {} owner {}").format(*names))
    postgres.ensure_roles(replace(settings, database=name))


def _settings_of_case(parts: Layout, folder: Path, name: str, partitions: int, store: str) -> Settings:
    """The parts of the rig, but a home, a topic and a database of the case's own; from a file, as a process needs."""
    home = folder / "state"
    home.mkdir(parents=True)
    ports = "\n".join(f"{port} = {number}" for port, number in vars(parts.settings.ports).items())
    topic = f"[topic]\nname = {json.dumps(name)}\npartitions = {partitions}\n"
    places = f"[places]\nstore = {json.dumps(store)}\n" if store else ""
    (folder / "kappa.toml").write_text(f"database = {json.dumps(name)}\n[ports]\n{ports}\n{topic}{QUICK}{places}")
    os.symlink(parts.settings.secrets, home / "secrets")
    if store.startswith("s3a:"):
        put_jars(parts, home)
    else:
        os.symlink(parts.settings.jars.parent, home / "jars")
    return load(home)


def put_jars(parts: Layout, home: Path) -> None:
    """The jars of a driver that uses a bucket, and the classes that are archived."""
    folder = home / "jars" / "spark"
    wanted = {"spark": folder, "s3": folder}
    jars.fetch(jars.read(), jars.repository(parts.environment), parts.jar_cache, wanted)
    spark_jar.put(folder)
    os.symlink(parts.settings.class_archive, home / "jars" / parts.settings.class_archive.name)
