"""The embedded stack, containers and hosts tell the same part the same, wherever it was written down."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from kappa.core.installation.settings import Settings
from stack.containers import brokers, names
from stack.containers.names import Chosen
from stack.layout import Layout
from stack.services import kafka, postgres, spark

MODULE = CHECKOUT / "terraform" / "modules" / "installation"
BROKER, POSTGRES, MASTER, WORKER = "broker", "postgres", "master", "worker"
EMBEDDED, CONTAINERS, HOSTS = "embedded", "containers", "hosts"
SAME = {
    BROKER: (
        "log.flush.interval.ms", "log.flush.scheduler.interval.ms", "auto.create.topics.enable",
        "group.initial.rebalance.delay.ms",
    ),
    POSTGRES: ("max_connections", "timezone", "log_timezone"),
    MASTER: (
        "spark.worker.timeout", "spark.ui.killEnabled", "spark.master.ui.decommission.allow.mode",
        "spark.master.rest.enabled",
    ),
    WORKER: (
        "spark.worker.timeout", "spark.worker.cleanup.enabled", "spark.worker.cleanup.interval",
        "spark.worker.cleanup.appDataTtl", "spark.ui.killEnabled",
    ),
}  # fmt: skip
"""Of one broker, one Postgres, Spark's master and a worker."""
ON_ONE_HOST = {"spark.worker.timeout"}
"""What the embedded stack leaves as Spark has it: it is about hosts that are lost."""


def embedded(folder: Path) -> dict[str, str]:
    """What each part of the embedded stack is told."""
    layout = Layout(Settings(folder), CHECKOUT)
    master, worker = (" ".join(program.command) for program in spark.programs(layout, "java"))
    told = " ".join(postgres.program(layout).command)
    return {BROKER: kafka.properties(layout.settings, folder), POSTGRES: told, MASTER: master, WORKER: worker}


def containers() -> dict[str, str]:
    """What each part in a container is told, where there is one broker."""
    script, start = ((CHECKOUT / "docker" / name).read_text() for name in ("spark.sh", "postgres.sh"))
    both, master, worker = re.split(r"^    (?:master|worker)\)$", script, flags=re.M)
    broker = brokers.properties(Settings(names.STATE), Chosen(), 1)
    return {BROKER: broker, POSTGRES: start, MASTER: both + master, WORKER: both + worker}


def hosts() -> dict[str, str]:
    """What each part on a host is told, where there is one broker."""
    text = (MODULE / "locals.tf").read_text()
    both = re.findall(r"^  spark += .*$", text, re.M)
    master, worker = (
        text.split(f'name        = "kappa-spark-{part}"')[1].split("--host")[0] for part in (MASTER, WORKER)
    )
    broker, start = (
        (MODULE / "templates" / f"{name}.tftpl").read_text() for name in ("server.properties", "postgresql.conf")
    )
    return {BROKER: broker, POSTGRES: start, MASTER: "\n".join([*both, master]), WORKER: "\n".join([*both, worker])}


def said(text: str, name: str) -> str | None:
    """What a text says of a setting, however it is given."""
    found = re.findall(rf"(?:(?<![\w.])|-D){re.escape(name)} ?= ?'?([\w.-]+)", text)
    assert len(found) <= 1, f"{name} is said twice"
    return found[0] if found else None


@pytest.mark.parametrize("part", SAME)
def test_what_is_the_same_everywhere_is_told_everywhere(part: str, tmp_path: Path) -> None:
    sources = {EMBEDDED: embedded(tmp_path), CONTAINERS: containers(), HOSTS: hosts()}
    for name in SAME[part]:
        told = {source: said(texts[part], name) for source, texts in sources.items()}
        if name in ON_ONE_HOST:
            assert told.pop(EMBEDDED) is None
        assert None not in told.values(), f"{name} is {told}"
        assert len(set(told.values())) == 1, f"{name} is {told}"


def test_on_hosts_only_a_broker_without_others_flushes() -> None:
    """Of what several have acknowledged there is a copy elsewhere."""
    alone = re.search(r"%\{ if copies == 1 ~\}\n(.*?)%\{ endif ~\}\n", hosts()[BROKER], re.S)
    assert alone is not None
    assert set(re.findall(r"^(\S+)=", alone[1], re.M)) == {"log.flush.interval.ms", "log.flush.scheduler.interval.ms"}
