"""Spark: a standalone master and one worker on loopback from the jars of the Python package."""

from __future__ import annotations

import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from kappa.core.installation.addresses import LOOPBACK
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.signed_requests import signature
from stack.layout import Layout, package_folder
from stack.programs import Program
from stack.services import passwords

MASTER = "spark-master"
WORKER = "spark-worker"
MONTH = 30 * 86_400
"""Seconds after which the worker itself removes the folder of a driver or executor that has ended. `retire_versions`
does so after a day, but keeps the last words of each version's newest drivers; the worker would not."""


class NoJava(Refusal):
    """There is no `java` on PATH."""

    def __init__(self) -> None:
        super().__init__(
            "Java 17 or newer is needed and 'java' is not on PATH. Install it (on Debian and Ubuntu: "
            "apt install openjdk-17-jre-headless) or set JAVA_HOME and use ./kappa. Nothing was changed."
        )


def java(layout: Layout) -> str:
    """The `java` of the caller's PATH; the launcher has put one of the right age first. Raises NoJava."""
    found = shutil.which("java", path=layout.environment.get("PATH"))
    if not found:
        raise NoJava
    return found


def spark_home() -> Path:
    """The folder of the pyspark package, found without importing it."""
    return package_folder("pyspark")


def programs(layout: Layout, java_path: str) -> list[Program]:
    """Master and worker; a stop of the worker signals the drivers and executors that it started, too."""
    ports, cluster = layout.settings.ports, layout.settings.cluster
    rest = {"master.rest.enabled": "true", "master.rest.host": LOOPBACK, "master.rest.port": str(ports.spark_rest)}
    # The pages want a signature, and show and do nothing.
    shows = {"ui.killEnabled": "false", "master.ui.decommission.allow.mode": "DENY"}
    tidy = {"worker.cleanup.enabled": "true", "worker.cleanup.interval": "600", "worker.cleanup.appDataTtl": str(MONTH)}
    master = ("--host", LOOPBACK, "--port", str(ports.spark_master), "--webui-port", str(ports.spark_ui))
    worker = ("--host", LOOPBACK, "--port", str(ports.spark_worker), "--webui-port", str(ports.spark_worker_ui))
    offer = ("--cores", str(cluster.worker_cores), "--memory", f"{cluster.worker_memory_mb}m")
    place = ("--work-dir", str(layout.spark), layout.settings.spark_master)
    return [
        _program(
            layout,
            java_path,
            MASTER,
            "master.Master",
            rest | shows,
            ("--properties-file", str(passwords.spark_master(layout.settings)), *master),
            ("spark_master", "spark_rest", "spark_ui"),
        ),
        _program(
            layout,
            java_path,
            WORKER,
            "worker.Worker",
            tidy | {"ui.killEnabled": "false"},
            ("--properties-file", str(passwords.spark_worker(layout.settings)), *worker, *offer, *place),
            ("spark_worker", "spark_worker_ui"),
        ),
    ]


def healthy(settings: Settings) -> bool:
    """The master has one live worker, and its submission server answers: without a signature, that it asks for one.
    A master that has run since before the key was replaced is well, too; whoever asks it is told."""
    state: dict[str, Any] = {}
    try:
        state = _get(f"{settings.spark_ui[0]}/json/", signature(settings.spark_key))
        _get(f"{settings.spark_rest[0]}/v1/submissions/readyz", {})
    except urllib.error.HTTPError as refused:
        return refused.code == HTTPStatus.FORBIDDEN and state.get("aliveworkers", 1) == 1
    except (OSError, ValueError):
        return False
    return state.get("aliveworkers") == 1


def _program(
    layout: Layout,
    java_path: str,
    name: str,
    main: str,
    properties: dict[str, str],
    arguments: tuple[str, ...],
    ports: tuple[str, ...],
) -> Program:
    home = spark_home()
    options = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    settings = tuple(f"-Dspark.{key}={value}" for key, value in properties.items())
    command = (
        java_path,
        *options,
        *settings,
        "-cp",
        f"{home}/jars/*",
        f"org.apache.spark.deploy.{main}",
        *arguments,
    )
    environment = {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13", "SPARK_LOCAL_IP": LOOPBACK}
    return Program(name, command, layout.spark, environment, ports, uses_store=name == WORKER)


def _get(url: str, headers: Mapping[str, str]) -> dict[str, Any]:
    with urllib.request.urlopen(urllib.request.Request(url, headers=dict(headers)), timeout=5) as answer:
        document: dict[str, Any] = json.load(answer)
    return document
