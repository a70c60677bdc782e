"""One version of a job in a stack without Spark and Airflow: staged by plain SQL, run with a local Spark master."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pyspark

from cli.entry import CHECKOUT
from kappa.core import job_catalog
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.log.kafka_log import KafkaLog
from kappa.core.spark_environment import search_path
from kappa.verbs.drivers.size import local_memory_mb
from kappa.verbs.drivers.submission import SHORT_JVM_OPTIONS, archived, jars
from stack.layout import Layout
from stack.services.passwords import SUPERUSER

POLL_SECONDS = 0.5
STOP_SECONDS = 120
SPARK_SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
_DELAY = re.compile(r"watermark delay (\d+) ms, (\d+) ms of it for the read skew")
_GUARDED = re.compile(r"WARNING kappa\.driver: the batch would set the watermark")


@dataclass(frozen=True)
class Ended:
    """How a driver's run ended: seconds, watermark delays and read skews (ms) it chose, restarts by the guard."""

    seconds: float
    in_time: bool
    delays_ms: list[int]
    skews_ms: list[int]
    guard_restarts: int


@dataclass(frozen=True)
class Staged:
    """A staged version that serves all windows, its launch, and where its driver's words go."""

    layout: Layout
    job: str
    version: int
    launch: uuid.UUID
    settings: dict[str, int]

    @property
    def folder(self) -> Path:
        """The driver's working folder; its name is the submission's id."""
        return self.layout.spark / f"driver-{self.job}-v{self.version}"

    @property
    def log(self) -> Path:
        """What the driver says."""
        return self.folder / "stderr"

    def run(self, without: Sequence[str], within: float) -> Ended:
        """Run the driver until it has read the whole log, or ends, or `within` seconds are over; then stop it."""
        options = [word for safeguard in without for word in ("--without", safeguard)]
        begun = time.monotonic()
        process = self.start(["tests.rigs.driver_process", *options, "--"])
        in_time = self._await_end(process, begun + within)
        seconds = time.monotonic() - begun
        self._stop(process)
        return _ended(self.log.read_text(errors="replace"), seconds, in_time)

    def start(self, program: Sequence[str] = ("jobs.run",)) -> subprocess.Popen[bytes]:
        """A process of the driver, or of a module that runs it, with the options that go before the driver's own."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", *program, *self.arguments()], cwd=self.folder, env=self._environment(),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def submit(self, program: Path, options: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """As `start`, but in the way that Spark's worker does it: the process is a JVM, and Python its child."""
        self.folder.mkdir(parents=True, exist_ok=True)
        environment = self._environment()
        spark, _ = environment.pop("PYSPARK_SUBMIT_ARGS").rsplit(" ", 1)
        command = [str(SPARK_SUBMIT), *shlex.split(spark), str(program), *options, *self.arguments()]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def arguments(self) -> list[str]:
        """What a driver's program is told."""
        driver = ["--home", str(self.layout.home), "--job", self.job, "--version", str(self.version)]
        return [*driver, "--launch", str(self.launch)]

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a superuser's statement about %(job)s and %(version)s."""
        with _connect(self.layout) as connection:
            return connection.execute(statement, {"job": self.job, "version": self.version}).fetchall()

    def _await_end(self, process: subprocess.Popen[bytes], deadline: float) -> bool:
        """Whether the driver read everything, or gave up, in time."""
        with KafkaLog(self.layout.settings.kafka_access(KafkaUser.CONTROL), self.layout.settings.topic.name) as log:
            ends = log.ends()
        while time.monotonic() < deadline:
            offsets = dict(self.query(_OFFSETS))
            if process.poll() is not None or all(offsets.get(p, 0) >= end for p, end in ends.items()):
                return True
            time.sleep(POLL_SECONDS)
        return False

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        """By the registry, as an operator would; by force where that does not help."""
        self.query(_STOP)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _environment(self) -> dict[str, str]:
        memory_mb = local_memory_mb(self.settings)
        return {**self.layout.surroundings, **local_spark(self.layout.settings, memory_mb)}


def local_spark(settings: Settings, memory_mb: int) -> dict[str, str]:
    """The environment of a process that has its own Spark, on two cores, with the jars of a driver. The second compiler
    would take a quarter of the processors for code that a few batches run."""
    options = f"--driver-java-options '{SHORT_JVM_OPTIONS} {archived(settings)}'"
    submit = f"--master local[2] --driver-memory {memory_mb}m --jars {jars(settings)} {options}"
    local = "--conf spark.driver.host=127.0.0.1 --conf spark.driver.bindAddress=127.0.0.1"
    return {
        "PYTHONPATH": search_path(CHECKOUT),
        "PYSPARK_SUBMIT_ARGS": f"{submit} {local} pyspark-shell",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def stage(layout: Layout, job: str, given: dict[str, int]) -> Staged:
    """The next version of a job from the beginning of the log, serving all windows; earlier ones are retired."""
    settings = job_catalog.resolve(job_catalog.find(job), given)
    topic = layout.settings.topic.name
    with KafkaLog(layout.settings.kafka_access(KafkaUser.CONTROL), topic) as log:
        described, start = log.describe(), log.earliest()
    launch = uuid.uuid4()
    with _connect(layout) as connection:
        row = connection.execute(
            "select coalesce(max(version), 0) + 1 from registry.job_version where job = %s", [job]
        ).fetchone()
        assert row is not None
        version = int(row[0])
        key = {"job": job, "version": version}
        stated = {"settings": json.dumps(settings), "start": json.dumps(start), "topic": topic}
        for statement in _STAGE:
            connection.execute(statement, {**key, **stated, "topic_id": described.topic_id, "launch": launch})
        for partition, offset in start.items():
            connection.execute(_PROGRESS, {**key, "partition": partition, "offset": offset})
    return Staged(layout, job, version, launch, settings)


_STAGE = (
    "update registry.job_version set state = 'RETIRED', desired = 'stopped' where job = %(job)s",
    "update registry.launch set ended_at = clock_timestamp() where job = %(job)s and ended_at is null",
    """insert into registry.job_version (job, version, state, artifact, state_digest, result_digest, settings, topic,
        topic_id, start_offsets) values (%(job)s, %(version)s, 'LIVE', 'bench', 'bench', 'bench', %(settings)s,
        %(topic)s, %(topic_id)s, %(start)s)""",
    "insert into registry.fence (job, version) values (%(job)s, %(version)s)",
    "insert into registry.launch (launch_id, job, version) values (%(launch)s, %(job)s, %(version)s)",
    "select registry.add_rows_partition(%(job)s, %(version)s)",
    "delete from registry.segment where job = %(job)s",
    "insert into registry.segment values (%(job)s, '-infinity', 'infinity', %(version)s)",
)
_PROGRESS = """insert into registry.progress (job, version, "partition", next_offset)
values (%(job)s, %(version)s, %(partition)s, %(offset)s)"""
_OFFSETS = 'select "partition", next_offset from ops.progress where job = %(job)s and version = %(version)s'
_STOP = """update registry.job_version set desired = 'stopped'
where job = %(job)s and version = %(version)s returning version"""


def _connect(layout: Layout) -> psycopg.Connection[tuple[Any, ...]]:
    return psycopg.connect(layout.settings.dsn(SUPERUSER), connect_timeout=10)


def _ended(said: str, seconds: float, in_time: bool) -> Ended:
    """What the driver's words come to."""
    found = _DELAY.findall(said)
    delays, skews = [int(delay) for delay, _ in found], [int(skew) for _, skew in found]
    return Ended(round(seconds, 1), in_time, delays, skews, len(_GUARDED.findall(said)))
