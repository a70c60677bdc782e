"""How the program is started that looks at each host of the cluster; no secret among it."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from kappa.cluster import Submission
from kappa.code.environments import python_of
from kappa.core.installation.settings import Settings, variables
from kappa.core.spark_environment import environment, search_path
from kappa.verbs.drivers.submission import SHORT_JVM_OPTIONS, archived, guarded

NAME = "kappa-look-at-hosts"
MEMORY_MB = 512
WAIT_SECONDS = 30
"""So long the program waits for an executor on each host; those that came are looked at."""


def look_submission(settings: Settings, code: Path, launch_id: UUID, hosts: int, out: Path) -> Submission:
    """The submission of a program that looks at up to so many hosts, with the code in a folder that all of them see,
    and writes what it saw into a file."""
    program = [str(code / "jobs" / "look_at_hosts.py"), "--home", str(settings.home)]
    program += ["--hosts", str(hosts), "--out", str(out)]
    return Submission(
        launch_id=launch_id,
        name=NAME,
        arguments=tuple(program),
        environment=environment(code, python_of(settings, code)) | variables(settings),
        configuration={
            "spark.executor.memory": f"{MEMORY_MB}m",
            "spark.driver.extraJavaOptions": f"{SHORT_JVM_OPTIONS} {archived(settings)}",
            "spark.executor.extraJavaOptions": SHORT_JVM_OPTIONS,
            "spark.scheduler.minRegisteredResourcesRatio": "1",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{WAIT_SECONDS}s",
            "spark.log.level": "WARN",
            "spark.executorEnv.PYTHONPATH": search_path(code),
            **guarded(settings),
        },
        cluster=settings.spark_master,
        driver_cores=1,
        driver_memory_mb=MEMORY_MB,
        executors=hosts,
        executor_cores=1,
        secret=settings.spark_auth,
        supervised=False,
    )
