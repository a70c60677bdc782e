"""The program that looks at each host that Spark gives it: clock, secrets, environment, room, the store."""
# ruff: noqa: E402 - the path is put right before anything is imported by it

from __future__ import annotations

import argparse
import hashlib
import hmac
import json
import os
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

# Started as a file, this folder comes first on the path and would hide modules of other packages.
sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).resolve().parent]

from pyspark import SparkContext
from pyspark.sql import SparkSession

from kappa.core import environment
from kappa.core.installation import settings as platform
from kappa.core.installation.host_facts import HostFacts, Look
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.core.store import check, places

TASKS_A_HOST = 4
"""Enough that each executor gets one, however quick another one is."""
PAUSE_SECONDS = 0.3
WROTE = b"seen"


def seen(salt: bytes, files: Sequence[str], store: str, trial: str) -> dict[str, Any]:
    """What this process sees of its host. Of a secret's file only a digest with `salt` leaves the host; a file named
    after the host is left in the folder `trial` of the store, which the driver reads back."""
    host = os.environ.get("SPARK_LOCAL_HOSTNAME") or socket.gethostname()
    return {
        "host": host,
        "secrets": {Path(file).name: _digest(salt, Path(file)) for file in files},
        "environment": environment.present(),
        "store": _store_problem(store, trial, host),
        "free_bytes": shutil.disk_usage(Path.cwd()).free,
    }


def _digest(salt: bytes, file: Path) -> str | None:
    try:
        return hmac.new(salt, file.read_bytes(), hashlib.sha256).hexdigest()
    except OSError:
        return None


def _store_problem(store: str, trial: str, host: str) -> str:
    try:
        place = places.at(store)
        for finding in check.check(place):
            return f"{finding.part}: {finding.wrong}"
        (place / trial / host).write(WROTE)
    except (OSError, Refusal) as problem:
        return " ".join(str(problem).split())
    return ""


def look(context: SparkContext, settings: Settings, hosts: int) -> Look:
    """What all hosts have on which this application has its driver or an executor."""
    files = [settings.spark_auth, settings.kafka_access(KafkaUser.STREAM).file, settings.passfile("kappa_writer")]
    salt, trial = secrets.token_bytes(32), f".look-{secrets.token_hex(8)}"
    asked = (salt, [str(file) for file in files], settings.places.store or str(settings.shared), trial)
    from jobs import look_at_hosts  # executors find it by its name, not by that of a program

    tasks = range(TASKS_A_HOST * hosts)
    try:
        found = context.parallelize(tasks, len(tasks)).map(lambda _: look_at_hosts.after_a_pause(asked)).collect()
        by_host = {each["host"]: each for each in [*found, seen(*asked)]}
        unread = {host: "" if _is_read(settings, trial, host) else "what it wrote is not there" for host in by_host}
    finally:
        (settings.store / trial).delete()
    off, contents = _clocks(context, len(tasks)), _numbered(by_host.values())
    return Look(
        tuple(
            HostFacts(
                host, off.get(host, 0.0), {name: contents[name, digest] for name, digest in each["secrets"].items()},
                each["environment"], each["store"] or unread[host], each["free_bytes"],
            )
            for host, each in sorted(by_host.items())
        )
    )  # fmt: skip


def after_a_pause(asked: tuple[bytes, list[str], str, str]) -> dict[str, Any]:
    """What is seen, after a moment in which other executors take the other tasks."""
    time.sleep(PAUSE_SECONDS)
    return seen(*asked)


def now() -> tuple[str, float]:
    """The host, and its time in seconds since 1970, after a moment in which others take the other tasks."""
    time.sleep(PAUSE_SECONDS)
    return os.environ.get("SPARK_LOCAL_HOSTNAME") or socket.gethostname(), time.time()


def _clocks(context: SparkContext, tasks: int) -> dict[str, float]:
    """By how many seconds each host's clock is off at least: it was asked between two looks at the driver's."""
    from jobs import look_at_hosts

    before = time.time()
    told = context.parallelize(range(tasks), tasks).map(lambda _: look_at_hosts.now()).collect()
    after = time.time()
    return {host: max(0.0, before - clock, clock - after) for host, clock in told}


def _is_read(settings: Settings, trial: str, host: str) -> bool:
    try:
        return (settings.store / trial / host).read() == WROTE
    except OSError:
        return False


def _numbered(found: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str | None], int | None]:
    """By file and digest, the number of that content among those of the file: no digest leaves this process."""
    digests: dict[str, dict[str, int]] = {}
    numbers: dict[tuple[str, str | None], int | None] = {}
    for each in found:
        for name, digest in each["secrets"].items():
            known = digests.setdefault(name, {})
            numbers[name, digest] = None if digest is None else known.setdefault(digest, len(known))
    return numbers


def main() -> None:
    """Write what was seen into a file, whole or not at all."""
    parser = argparse.ArgumentParser(description="Looks at each host that Spark gives it.")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--hosts", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    spark = SparkSession.builder.getOrCreate()
    told = json.dumps(look(spark.sparkContext, platform.load(given.home), given.hosts).to_json())
    new = given.out.with_suffix(".new")
    new.write_text(told)
    new.replace(given.out)
    spark.stop()


if __name__ == "__main__":
    main()
