"""Look before a deployment: what registry, cluster and log say of the job, and the plan that follows."""

from __future__ import annotations

from dataclasses import replace

from kappa.code import known_artifacts
from kappa.code.differences import Parts
from kappa.core.job_catalog import find
from kappa.core.log.kafka_log import Log
from kappa.core.log.topic import check_kept_whole, check_stamping
from kappa.core.requests.lifecycle import EARLIEST, DeployRequest
from kappa.platform import Platform
from kappa.verbs.deploy.plan import Action, DeployPlan, decide, needs_start
from kappa.verbs.desired import Found, want
from kappa.verbs.drivers.size import check_fits
from kappa.verbs.equal_settings import Ruled, check_one_rule
from kappa.verbs.observation import beside, found, parts_of
from kappa.verbs.start_point import LogHead, StartPoint, start_ms
from kappa.verbs.stop.plan import NothingDeployed


def plan_deploy(platform: Platform, request: DeployRequest) -> DeployPlan:
    """The plan of a deployment. Changes nothing.

    Raises UnknownJob, UnknownArtifact, TamperedArtifact, MissingTopic, WrongTimestampType, Compacted,
    UnknownJobSetting, JobSettingOutOfRange, OtherRules, InvalidStart, LogTooShort, DoesNotFit, Unreachable,
    StoreAway.
    """
    job, others = find(request.job), beside(platform, [request.job])
    artifact = known_artifacts.find_whole(platform.settings, request.artifact)
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
    if plan.action in (Action.FIRST, Action.IN_PLACE):
        _check_fits(platform, plan, there)
    return replace(plan, environment=artifact.environment)


def _check_fits(platform: Platform, plan: DeployPlan, there: Found) -> None:
    """Pass where the cluster can place what the plan starts. Raises DoesNotFit."""
    current, job = there.current(), plan.wanted.job
    before = current.settings if current else None
    runs = current is not None and current.version in there.running
    less = f"./kappa deploy {job} --set executors=N --set executor_cores=N"
    check_fits(job, plan.wanted.settings, before, runs, platform.cluster.capacity(), less)


def plan_start(platform: Platform, job: str) -> DeployPlan:
    """The plan of starting a job's current version as it is. Raises NothingDeployed, and as `plan_deploy`."""
    current = found(platform, find(job).name).current()
    if current is None:
        raise NothingDeployed(job)
    return plan_deploy(platform, DeployRequest(job, EARLIEST, current.artifact, current.settings))


def start_point(platform: Platform, log: Log, asked: str, future_bound_ms: int) -> StartPoint:
    """The exact start for what was asked. Raises InvalidStart, LogTooShort."""
    firsts = log.earliest()
    appended = {p: log.append_time(p, offset) if offset else None for p, offset in firsts.items()}
    now_ms = round(platform.registry.now().timestamp() * 1000)
    starts = start_ms(asked, LogHead(firsts, appended), now_ms, future_bound_ms)
    offsets = firsts if starts is None else log.offsets_at(starts - future_bound_ms)
    # The clock was read before: of a partition that has nothing to read yet, nothing older can come.
    first = {p: now_ms if (at := log.append_time(p, offset)) is None else at for p, offset in offsets.items()}
    return StartPoint(asked, starts, offsets, first)
