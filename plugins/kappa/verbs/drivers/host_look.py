"""How the program is started that looks at each host of the cluster; no secret among it."""

from __future__ import annotations

import sys
from pathlib import Path
from uuid import UUID

from kappa.cluster import Submission
from kappa.core.installation.settings import Settings, variables
from kappa.core.spark_environment import environment, search_path
from kappa.verbs.drivers.submission import SHORT_JVM_OPTIONS, archived, guarded

NAME = "kappa-look-at-hosts"
MEMORY = "512m"
WAIT_SECONDS = 30
"""So long the program waits for an executor on each host; those that came are looked at."""


def look_submission(settings: Settings, code: Path, launch_id: UUID, hosts: int, out: Path) -> Submission:
    """The submission of a program that looks at up to so many hosts, with the code in a folder that all of them see,
    and writes what it saw into a file."""
    options = ["--master", settings.spark_master, "--deploy-mode", "client", "--name", NAME]
    options += ["--properties-file", str(settings.spark_auth)]
    configuration = {
        "spark.cores.max": str(hosts),
        "spark.executor.cores": "1",
        "spark.executor.memory": MEMORY,
        "spark.driver.memory": MEMORY,
        "spark.driver.extraJavaOptions": f"{SHORT_JVM_OPTIONS} {archived(settings)}",
        "spark.executor.extraJavaOptions": SHORT_JVM_OPTIONS,
        "spark.scheduler.minRegisteredResourcesRatio": "1",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{WAIT_SECONDS}s",
        "spark.log.level": "WARN",
        "spark.executorEnv.PYTHONPATH": search_path(code),
        **guarded(settings),
    }
    for key, value in configuration.items():
        options += ["--conf", f"{key}={value}"]
    program = [str(code / "jobs" / "look_at_hosts.py"), "--home", str(settings.home)]
    program += ["--hosts", str(hosts), "--out", str(out)]
    properties = {
        "spark.app.name": NAME,
        "spark.master": settings.spark_master,
        "spark.submit.deployMode": "cluster",
        "spark.driver.supervise": "false",
        "spark.driver.memory": MEMORY,
        "spark.driver.cores": "1",
        "spark.jars": "",
        **guarded(settings),
    }
    surroundings = environment(code, settings.spark.python or sys.executable) | variables(settings)
    return Submission(launch_id, NAME, (*options, *program), surroundings, properties)
