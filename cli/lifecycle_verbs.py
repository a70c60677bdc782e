"""The lifecycle verbs as functions: through Airflow, followed to their end, or in place with the same
plans and steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from cli.entry import CHECKOUT
from cli.follow import Outcome
from cli.output import err
from cli.run_verb import by_airflow, in_place, when_held
from kappa.code import artifacts, environments, known_artifacts
from kappa.code.artifacts import Artifact
from kappa.core.audit import Author
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import find, resolve
from kappa.core.refusals import Refusal
from kappa.core.requests.fields import write
from kappa.core.requests.lifecycle import DeployRequest, StopRequest
from kappa.platform import Platform, connect
from kappa.verbs.deploy import steps as deploying
from kappa.verbs.deploy.observation import plan_start
from kappa.verbs.observation import found
from kappa.verbs.retire import steps as retiring
from kappa.verbs.stop import steps as stopping
from kappa.verbs.stop.plan import NothingDeployed
from kappa.verbs.stop.steps import plan_stop


class SharedFolderUnseen(Refusal):
    """Code is to be built on a host that does not see the folder from which Spark's hosts take it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"this host does not see {folder}, from which Spark's hosts take their code: it is not there, or holds "
            "none of the artifacts that there are. Run './kappa build' on a host that sees it; then every host knows "
            "of the artifact, and --artifact names it. Nothing was built."
        )


def build(settings: Settings) -> tuple[Artifact, bool]:
    """The artifact of the checkout's code, and whether it had to be made; its environment, too, where Spark's hosts are
    to have that from the shared folder. Raises SharedFolderUnseen, EnvironmentBroken, StoreAway, Unreachable."""
    if not (settings.is_embedded or _sees_shared(settings)):
        raise SharedFolderUnseen(settings.shared)
    if settings.spark.python == environments.SHARED:
        packed, new = environments.pack(settings.shared)
        err.print(f"environment {packed.name} {'made' if new else 'was there already'}", highlight=False)
    there = (settings.artifacts / artifacts.checkout_digest(CHECKOUT)).exists()
    built = artifacts.build(CHECKOUT, settings.artifacts, datetime.now(UTC))
    known_artifacts.publish(settings)
    if not settings.needs_shared:  # then Airflow's workers need not see what nobody needs any more
        for said in retiring.drop_code(connect(settings)):
            err.print(said, highlight=False)
    return built, not there


def _sees_shared(settings: Settings) -> bool:
    """Whether the shared folder is mounted here: where nothing is, its place is empty, or not there."""
    return settings.artifacts.is_dir() or (settings.shared.is_dir() and not known_artifacts.known(settings))


def requests(
    settings: Settings, jobs: Sequence[str], start: str, artifact: str, given: Mapping[str, int | str]
) -> list[DeployRequest]:
    """What is asked of each job; without an artifact named, that of the checkout's code, built if need be.

    Raises UnknownJob, UnknownJobSetting, JobSettingOutOfRange, UnknownArtifact.
    """
    names = [find(job).name for job in dict.fromkeys(jobs)]
    for job in names:
        resolve(find(job), given)
    named = digest(settings, artifact)
    return [DeployRequest(job, start, named, given) for job in names]


def digest(settings: Settings, artifact: str) -> str:
    """The digest of the artifact that is named; without a name, of the checkout's code, built if need be. Raises
    UnknownArtifact, and as `build`."""
    if artifact:
        return known_artifacts.find(settings, artifact).digest
    ours = artifacts.checkout_digest(CHECKOUT)
    if not known_artifacts.sees_files(settings) and ours in {one.digest for one in known_artifacts.known(settings)}:
        return ours
    made, new = build(settings)
    if new:
        err.print(f"built artifact {made.digest}", highlight=False)
    return made.digest


def deploy(settings: Settings, asked: Sequence[DeployRequest], reason: str | None, wait: bool = False) -> list[Outcome]:
    """Deploy by Airflow, all jobs at once. Raises Unreachable, AirflowRefused."""
    told = [replace(request, reason=reason, when_held=when_held(wait)) for request in asked]
    return by_airflow(settings, DeployRequest.verb.dag_id, {request.job: write(request) for request in told})


def start(settings: Settings, jobs: Sequence[str], reason: str | None, wait: bool = False) -> list[Outcome]:
    """Start the jobs' current versions as they are, by Airflow. Raises NothingDeployed."""
    platform = connect(settings)
    return deploy(settings, [_as_it_is(platform, job) for job in jobs], reason, wait)


def stop(settings: Settings, jobs: Sequence[str], reason: str | None, wait: bool = False) -> list[Outcome]:
    """Stop the jobs, by Airflow."""
    asked = [StopRequest(find(job).name, reason, when_held=when_held(wait)) for job in jobs]
    return by_airflow(settings, StopRequest.verb.dag_id, {request.job: write(request) for request in asked})


def start_in_place(settings: Settings, jobs: Sequence[str], reason: str | None, wait: bool = False) -> list[Outcome]:
    """Start without Airflow: the same plan and steps, here."""

    def act(platform: Platform, job: str, by: Author) -> str:
        def say(step: str) -> None:
            err.print(f"{job}: {step}", highlight=False)

        return deploying.carry_out(platform, plan_start(platform, job), by, say)

    return in_place(settings, deploying.VERB, jobs, reason, act, wait)


def stop_in_place(settings: Settings, jobs: Sequence[str], reason: str | None, wait: bool = False) -> list[Outcome]:
    """Stop without Airflow: the same plan and steps, here."""

    def act(platform: Platform, job: str, by: Author) -> str:
        return stopping.stop(platform, plan_stop(platform, job), by)

    return in_place(settings, stopping.VERB, jobs, reason, act, wait)


def _as_it_is(platform: Platform, job: str) -> DeployRequest:
    current = found(platform, find(job).name).current()
    if current is None:
        raise NothingDeployed(job)
    return DeployRequest(job, artifact=current.artifact, settings=current.settings)
