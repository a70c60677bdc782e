"""The peer in Flink SQL: a job manager and a task manager of the standalone kind, state in RocksDB."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from string import Template

from bench.database import free_port
from bench.peers import jvm, tables
from bench.peers.engines import Peer, Task
from bench.peers.processes import Process
from kappa.core.installation.addresses import LOOPBACK
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal

SQL = Path(__file__).with_name("flink.sql")
CLIENT = "kappa.peers.FlinkSql"
JOB_MANAGER = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
TASK_MANAGER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
JOB_MANAGER_MB, CLIENT_MB, HEAP_MB, MANAGED_MB, NETWORK_MB = 512, 256, 1_024, 512, 64
SLOTS = 2
MINI_BATCH_MS, FLUSH_MS = 100, 100
READY_SECONDS = 120.0


class NotReady(Refusal):
    """Flink did not come up, or did not take the job."""

    def __init__(self, what: str, folder: Path) -> None:
        super().__init__(f"Flink: {what} within {READY_SECONDS:.0f} s; its logs are in {folder}. Nothing was measured.")


def classpath(settings: Settings) -> str:
    """Its jars, and its classes compiled."""
    return jvm.classpath(settings, "flink", ["Event.java", "FlinkSql.java"])


def launch(checkpoint_ms: int, task: Task) -> list[Process]:
    """Start both managers, hand the job over, and return once it was taken."""
    path = classpath(task.settings)
    rest, rpc = free_port(), free_port()
    settings = configuration(task.folder, rest, rpc, checkpoint_ms)
    (task.folder / "config.yaml").write_text("".join(f"{name}: {value}\n" for name, value in settings.items()))
    (task.folder / SQL.name).write_text(statements(task))
    where = ("--configDir", str(task.folder))
    master = _process(task, "job-manager", path, JOB_MANAGER, *where, heap_mb=JOB_MANAGER_MB)
    worker = _process(task, "task-manager", path, TASK_MANAGER, *where, heap_mb=HEAP_MB)
    client = _process(task, "client", path, CLIENT, str(task.folder), str(task.folder / SQL.name), heap_mb=CLIENT_MB)
    master.start()
    worker.start()
    try:
        _await_slots(task, rest, master, worker)
        client.start()
        if client.ended(READY_SECONDS) != 0:
            raise NotReady("it did not take the job", task.folder)
    except BaseException:
        for process in (client, worker, master):
            process.stop()
        raise
    return [master, worker]


def configuration(folder: Path, rest: int, rpc: int, checkpoint_ms: int) -> Mapping[str, object]:
    """Flink's own settings. A lost task manager is noticed by heartbeats each second, and the job goes on at once."""
    return {
        "execution.target": "remote",
        "rest.address": LOOPBACK,
        "rest.bind-address": LOOPBACK,
        "rest.port": rest,
        "jobmanager.rpc.address": LOOPBACK,
        "jobmanager.bind-host": LOOPBACK,
        "jobmanager.rpc.port": rpc,
        "jobmanager.memory.process.size": f"{2 * JOB_MANAGER_MB}m",
        "taskmanager.host": LOOPBACK,
        "taskmanager.bind-host": LOOPBACK,
        "taskmanager.numberOfTaskSlots": SLOTS,
        "taskmanager.cpu.cores": float(SLOTS),
        "taskmanager.memory.task.heap.size": f"{HEAP_MB - 128}m",
        "taskmanager.memory.task.off-heap.size": "0m",
        "taskmanager.memory.framework.heap.size": "128m",
        "taskmanager.memory.framework.off-heap.size": "128m",
        "taskmanager.memory.jvm-metaspace.size": "256m",
        "taskmanager.memory.jvm-overhead.min": "192m",
        "taskmanager.memory.jvm-overhead.max": "192m",
        "taskmanager.memory.network.min": f"{NETWORK_MB}m",
        "taskmanager.memory.network.max": f"{NETWORK_MB}m",
        "taskmanager.memory.managed.size": f"{MANAGED_MB}m",
        "parallelism.default": SLOTS,
        "io.tmp.dirs": folder / "tmp",
        "state.backend.type": "rocksdb",
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.dir": (folder / "checkpoints").as_uri(),
        "execution.checkpointing.interval": f"{checkpoint_ms} ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": 1_000,
        "restart-strategy.fixed-delay.delay": "500 ms",
        "heartbeat.interval": "1000 ms",
        "heartbeat.timeout": "5000 ms",
        "table.exec.state.ttl": "3 h",
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.allow-latency": f"{MINI_BATCH_MS} ms",
        "table.exec.mini-batch.size": 10_000,
    }


def statements(task: Task) -> str:
    """The job in SQL."""
    kafka = {f"properties.{name}": value for name, value in jvm.kafka(task.settings).items()}
    kafka["properties.fetch.max.wait.ms"] = "20"
    offsets = (f"partition:{partition},offset:{offset}" for partition, offset in sorted(task.starts.items()))
    return Template(SQL.read_text()).substitute(
        topic=task.settings.topic.name,
        starts=";".join(offsets),
        kafka=",\n    ".join(f"{_quoted(name)} = {_quoted(value)}" for name, value in kafka.items()),
        url=jvm.database_url(task.settings),
        table=tables.NAME,
        flush_ms=FLUSH_MS,
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _process(task: Task, name: str, path: str, main: str, *arguments: str, heap_mb: int) -> Process:
    argv = jvm.command(task.settings, path, main, *arguments, heap_mb=heap_mb)
    return Process(task.settings, f"Flink's {name}", argv, task.folder / f"{name}.log")


def _await_slots(task: Task, rest: int, *processes: Process) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while _slots(rest) < SLOTS:
        for process in processes:
            process.check()
        if time.monotonic() > deadline:
            raise NotReady("it had no slots", task.folder)
        time.sleep(0.1)


def _slots(rest: int) -> int:
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{rest}/overview", timeout=2) as answer:
            return int(json.load(answer)["slots-total"])
    except (OSError, ValueError):
        return 0


def engine(seconds: int) -> Peer:
    """Flink with a checkpoint every so many seconds."""
    return Peer(f"Flink {seconds} s", ("peer flink",), partial(launch, seconds * 1_000), classpath)
