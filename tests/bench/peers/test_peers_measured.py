"""Each engine's processes are found among those of the stack: their CPU and memory are the engine's."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.cpu import CpuMeter
from bench.groups import group
from bench.peers import flink, jvm, kafka_streams, python_thread
from bench.peers.engines import Peer
from bench.peers.measure import cpu_of
from kappa.core.installation.settings import Settings

FLINK = flink.engine(1)
MAINS = [
    (kafka_streams.ENGINE, kafka_streams.MAIN),
    (FLINK, flink.JOB_MANAGER),
    (FLINK, flink.TASK_MANAGER),
    (FLINK, flink.CLIENT),
]


@pytest.mark.parametrize(("engine", "main"), MAINS)
def test_a_jvm_is_of_its_engine(engine: Peer, main: str, tmp_path: Path) -> None:
    words = jvm.command(Settings(tmp_path), "a.jar:b.jar", main, "--configDir", "x", heap_mb=64)
    assert group(words, lambda _: "").startswith(engine.groups)


def test_the_python_thread_is_of_its_engine() -> None:
    words = ["/usr/bin/python3", "-m", python_thread.MODULE, "{}"]
    assert group(words, lambda _: "").startswith(python_thread.ENGINE.groups)


def test_no_engine_has_anothers_processes() -> None:
    names = [name for engine in (python_thread.ENGINE, kafka_streams.ENGINE, FLINK) for name in engine.groups]
    assert [(one, other) for one in names for other in names if one != other and one.startswith(other)] == []


def test_cpu_of_an_engine_is_the_sum_of_its_groups() -> None:
    used = {"peer flink job manager": 1.0, "peer flink task manager": 2.0, "kafka": 4.0, "postgres": 8.0}
    assert cpu_of(FLINK, used) == 3.0


def test_peak_memory_is_the_most_at_one_moment_not_the_sum_of_peaks(tmp_path: Path) -> None:
    meter = CpuMeter(Settings(tmp_path))
    meter._resident = [{"peer flink job manager": 5, "kafka": 9}, {"peer flink task manager": 4, "kafka": 1}]
    assert meter.peak_bytes(FLINK.groups) == 5
