"""After the stack came up: every version that is wanted running has a driver again; works without Airflow."""

from __future__ import annotations

from kappa.core.catalog import JOBS
from kappa.core.settings import Settings
from kappa.core.versions import OVER, Desired
from kappa.platform import Platform, connect
from kappa.verbs.drivers.launch import launch
from kappa.verbs.observation import runs


def resume_all(settings: Settings) -> list[str]:
    """Start every driver that is wanted and gone; the names of the versions that were started. Raises
    Unreachable."""
    return ensure_running(connect(settings))


def ensure_running(platform: Platform) -> list[str]:
    """The same over given ports."""
    started = []
    for job in JOBS:
        for version in platform.registry.versions(job):
            wanted = version.desired is Desired.RUNNING and version.state not in OVER
            if wanted and not runs(platform, job, version.version):
                launch(platform, job, version.version)
                started.append(f"{job} v{version.version}")
    return started
