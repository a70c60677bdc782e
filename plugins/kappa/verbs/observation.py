"""Look before acting: what the registry and the cluster say of a job, and what its code is made of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kappa.cluster import ALIVE
from kappa.code import known_artifacts
from kappa.code.artifacts import JobNotInArtifact, UnknownArtifact
from kappa.core.changes import Change
from kappa.core.job_catalog import JOBS
from kappa.core.versions import State, Version
from kappa.platform import Platform
from kappa.verbs.desired import Found
from kappa.verbs.equal_settings import Ruled


def found(platform: Platform, job: str) -> Found:
    """What is there of a job."""
    versions = platform.registry.versions(job)
    running = frozenset(v.version for v in versions if runs(platform, job, v.version))
    return Found(versions, platform.registry.segments(job), running)


def beside(platform: Platform, jobs: Collection[str]) -> dict[str, Ruled]:
    """The versions of all other jobs that serve, or are to serve first."""
    there = {job: Found(platform.registry.versions(job), platform.registry.segments(job)) for job in JOBS}
    current = {job: held.current() for job, held in there.items() if job not in jobs}
    return {job: Ruled(version.version, version.settings) for job, version in current.items() if version}


def living(platform: Platform) -> list[Version]:
    """The versions of all jobs that are not retired."""
    versions = (version for job in JOBS for version in platform.registry.versions(job))
    return [version for version in versions if version.state is not State.RETIRED]


def open_changes(platform: Platform, versions: Iterable[Version]) -> list[Change]:
    """What is under way at these versions."""
    found_open = (platform.registry.open_change(one.job, one.version) for one in versions)
    return [change for change in found_open if change is not None]


def runs(platform: Platform, job: str, version: int) -> bool:
    """Whether a version has a driver on the cluster."""
    launch = platform.registry.open_launch(job, version)
    return bool(launch and launch.driver and platform.cluster.state(launch.launch_id, launch.names) in ALIVE)


def parts_of(platform: Platform, version: Version | None) -> Mapping[str, str]:
    """What a version's code is made of; nothing when its artifact is gone, or does not say."""
    try:
        return known_artifacts.find(platform.settings, version.artifact).code(version.job).parts if version else {}
    except (UnknownArtifact, JobNotInArtifact):
        return {}
