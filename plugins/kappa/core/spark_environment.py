"""The environment of a Spark program: where it finds its code, in which jar what keeps its checkpoints, which Python it
runs, how it gives memory back."""

from __future__ import annotations

import os
from pathlib import Path

from kappa.core.installation.addresses import LOOPBACK

ALLOCATION = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_TRIM_THRESHOLD_": str(2**20),
    "MALLOC_MMAP_THRESHOLD_": str(2**20),
}
"""What a JVM and its Python workers free goes back to the machine, not into pools of their own (decision 0018)."""

OF_ITS_OWN_PROCESS = {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
"""Where a session listens that does its work itself: nobody on another host has business there. One with executors
listens where its worker's environment says (SPARK_LOCAL_IP, SPARK_LOCAL_HOSTNAME), or at its host's own address."""

CHECKPOINT_JAR = "checkpoint-files.jar"
"""What the jobs' session names as the keeper of checkpoints is in it; built by stack/services/checkpoint_files.py."""


def search_path(code: Path) -> str:
    """The PYTHONPATH by which a program finds the code of a checkout or of an artifact, which is laid out alike."""
    return os.pathsep.join([str(code), str(code / "plugins")])


def environment(code: Path, python: str) -> dict[str, str]:
    """The environment of a Spark program that runs the code of a checkout or of an artifact with this Python."""
    return {
        "PYTHONPATH": search_path(code),
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": python,
        "SPARK_ENV_LOADED": "1",
        **ALLOCATION,
    }
