"""Look before acting: what the registry, the cluster and the log say of a job, and the plan that follows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from kappa.code import artifacts
from kappa.code.artifacts import JobNotInArtifact, UnknownArtifact
from kappa.code.differences import Parts
from kappa.core.catalog import JOBS, find
from kappa.core.kafka_log import Log, check_kept_whole, check_stamping
from kappa.core.versions import Version
from kappa.platform import Platform
from kappa.spark import ALIVE
from kappa.verbs.deploy.plan import DeployPlan, decide, needs_start
from kappa.verbs.desired import Found, want
from kappa.verbs.one_rule import Ruled, check_one_rule
from kappa.verbs.start_point import EARLIEST, LogHead, StartPoint, start_ms
from kappa.verbs.stop.plan import NothingDeployed, StopPlan, decide_stop


@dataclass(frozen=True)
class DeployRequest:
    """What somebody asks to be deployed; an empty artifact is the newest one, settings not named stay as
    they are."""

    job: str
    start: str = EARLIEST
    artifact: str = ""
    settings: Mapping[str, int | str] = field(default_factory=dict)


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


def runs(platform: Platform, job: str, version: int) -> bool:
    """Whether a version has a driver on the cluster."""
    launch = platform.registry.open_launch(job, version)
    return bool(launch and launch.driver and platform.cluster.status(launch.driver) in ALIVE)


def plan_deploy(platform: Platform, request: DeployRequest) -> DeployPlan:
    """The plan of a deployment. Changes nothing.

    Raises UnknownJob, UnknownArtifact, TamperedArtifact, MissingTopic, WrongTimestampType, Compacted,
    UnknownJobSetting, JobSettingOutOfRange, OtherRules, InvalidStart, LogTooShort, Unreachable.
    """
    job, others = find(request.job), beside(platform, [request.job])
    artifact = artifacts.find(platform.settings.artifacts, request.artifact)
    artifacts.verify(artifact)
    there = found(platform, job.name)
    with platform.open_log() as log:
        topic = log.describe()
        check_stamping(topic)
        check_kept_whole(topic)
        names = (topic.name, topic.topic_id)
        code = artifact.code(job.name)
        wanted = want(job, artifact.digest, code, names, request.settings, there)
        start = None
        if needs_start(wanted, there):
            check_one_rule("the deployment", {job.name: Ruled(there.next_number(), wanted.settings)}, others)
            start = start_point(platform, log, request.start, wanted.settings["future_bound_ms"])
    plan = decide(wanted, there, start, Parts(parts_of(platform, there.current()), code.parts), others)
    return replace(plan, environment=artifact.environment)


def parts_of(platform: Platform, version: Version | None) -> Mapping[str, str]:
    """What a version's code is made of; nothing when its artifact is gone, or does not say."""
    try:
        return artifacts.find(platform.settings.artifacts, version.artifact).code(version.job).parts if version else {}
    except (UnknownArtifact, JobNotInArtifact):
        return {}


def plan_start(platform: Platform, job: str) -> DeployPlan:
    """The plan of starting a job's current version as it is. Raises NothingDeployed, and as `plan_deploy`."""
    current = found(platform, find(job).name).current()
    if current is None:
        raise NothingDeployed(job)
    return plan_deploy(platform, DeployRequest(job, EARLIEST, current.artifact, current.settings))


def plan_stop(platform: Platform, job: str) -> StopPlan:
    """The plan of stopping a job's current version. Raises UnknownJob, NothingDeployed, AlreadyOver."""
    there = found(platform, find(job).name)
    current = there.current()
    launch = platform.registry.open_launch(job, current.version) if current else None
    return decide_stop(job, there, open_launch=launch is not None)


def start_point(platform: Platform, log: Log, asked: str, future_bound_ms: int) -> StartPoint:
    """The exact start for what was asked. Raises InvalidStart, LogTooShort."""
    firsts = log.earliest()
    appended = {p: log.append_time(p, offset) if offset else None for p, offset in firsts.items()}
    now_ms = round(platform.registry.now().timestamp() * 1000)
    starts = start_ms(asked, LogHead(firsts, appended), now_ms, future_bound_ms)
    offsets = firsts if starts is None else log.offsets_at(starts - future_bound_ms)
    return StartPoint(asked, starts, offsets)
