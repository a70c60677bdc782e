"""The environment of a Spark program: where it finds its code and our own jar, which Python it runs, how its libraries
use memory and threads."""

from __future__ import annotations

import os
from pathlib import Path

from kappa.core.installation.addresses import LOOPBACK

LIBRARIES = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_TRIM_THRESHOLD_": str(2**20),
    "MALLOC_MMAP_THRESHOLD_": str(2**20),
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
"""What a JVM and its Python workers free goes back to the machine, not into pools of their own (decision 0018). No
library of Python's starts a thread as it is loaded: workers are forked after that (jobs/transforms/worker_daemon.py).
"""

OF_ITS_OWN_PROCESS = {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
"""Where a session listens that does its work itself: nobody on another host has business there. One with executors
listens where its worker's environment says (SPARK_LOCAL_IP, SPARK_LOCAL_HOSTNAME), or at its host's own address."""

SPARK_JAR = "kappa-spark.jar"
"""What the jobs' session names as the keeper of checkpoints, and what has a batch evict, are in it; built by
stack/services/spark_jar.py."""


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
        **LIBRARIES,
    }
