"""Which group of the stack a process belongs to, by its command line, and the processes of a stack, cheaply.

`stack.leftovers` asks every process of the machine each time; that would itself weigh in a figure taken twice a second.
"""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psutil

from kappa.core.installation.settings import Settings
from kappa.signed_requests import signature
from stack.layout import MARKER

OTHER = "other"
_MAINS = {
    "kafka.Kafka": "kafka",
    "org.apache.spark.deploy.master.Master": "spark master",
    "org.apache.spark.deploy.worker.Worker": "spark worker",
    "kappa.peers.KafkaStreams": "peer kafka streams",
    "kappa.peers.FlinkSql": "peer flink client",
    "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint": "peer flink job manager",
    "org.apache.flink.runtime.taskexecutor.TaskManagerRunner": "peer flink task manager",
}
_EXECUTOR = "CoarseGrainedExecutorBackend"
_APPLICATION = re.compile(r"kappa-(\w+)-v\d+")

Key = tuple[int, float]
"""Pid and start time: a pid that was used again is another process."""


def group(words: list[str], application: Callable[[str], str]) -> str:
    """The group of a process with this command line; `application` gives the name of a Spark application id."""
    line = " ".join(words)
    first = Path(words[0].split(" ")[0]).name if words else ""
    if first.startswith("postgres"):
        return "postgres"
    if first == "java":
        return _of_java(words, application)
    if "jobs/run.py" in line:
        return f"driver Python {_after('--job', words)}"
    if "pyspark.daemon" in line or "pyspark.worker" in line:
        return "Python workers"
    if "bench.peers.python_thread" in words:
        return "peer python"
    if "airflow" in line:
        return "airflow"
    return "supervisor" if "supervisor.supervisord" in line else OTHER


def _of_java(words: list[str], application: Callable[[str], str]) -> str:
    if any(_EXECUTOR in word for word in words):
        found = _APPLICATION.search(application(_after("--app-id", words)))
        return f"executor JVM {found[1] if found else '?'}"
    if "--job" in words:
        return f"driver JVM {_after('--job', words)}"
    return next((name for main, name in _MAINS.items() if main in words), OTHER)


def _after(option: str, words: list[str]) -> str:
    place = words.index(option) + 1 if option in words else len(words)
    return words[place] if place < len(words) else "?"


class Applications:
    """The names of Spark's applications by id, from the master's page; an unknown id asks again."""

    def __init__(self, settings: Settings) -> None:
        self._page, self._key = f"{settings.spark_ui[0]}/json/", settings.spark_key
        self._names: dict[str, str] = {}

    def __call__(self, application_id: str) -> str:
        """The name of an application; empty where the master does not know it (yet) or does not answer."""
        if application_id not in self._names:
            self._ask()
        return self._names.get(application_id, "")

    def _ask(self) -> None:
        try:
            asked = urllib.request.Request(self._page, headers=signature(self._key))
            with urllib.request.urlopen(asked, timeout=2) as answer:
                state = json.load(answer)
        except (OSError, ValueError):
            return
        known = [*state.get("activeapps", []), *state.get("completedapps", [])]
        self._names.update({str(app["id"]): str(app["name"]) for app in known})


class Census:
    """The processes of one stack, by its mark in their environment or by their parent's; looks at each process once."""

    def __init__(self, home: Path) -> None:
        self._home = str(home)
        self._ours: dict[int, psutil.Process] = {}
        self._foreign: dict[int, psutil.Process] = {}

    def take(self) -> dict[Key, psutil.Process]:
        """All processes of the stack that run now."""
        pids = set(psutil.pids())
        for known in (self._ours, self._foreign):
            for pid in known.keys() - pids:
                del known[pid]
        for pid in sorted(pids - self._ours.keys() - self._foreign.keys()):
            self._judge(pid)
        return {(pid, process.create_time()): process for pid, process in self._ours.items()}

    def _judge(self, pid: int) -> None:
        """Postgres overwrites the environment of its processes, so that only their parent tells."""
        try:
            process = psutil.Process(pid)
            marked = process.ppid() in self._ours or _mark(process) == self._home
        except psutil.Error:
            return
        (self._ours if marked else self._foreign)[pid] = process


def _mark(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(MARKER)
    except psutil.AccessDenied:
        return None
