"""The finite Spark programs of a change: how each is started, where it runs, and the outcome that it leaves; no secret
among it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from uuid import UUID

from kappa.cluster import Submission
from kappa.code.environments import python_of
from kappa.code.known_artifacts import sees_files, source
from kappa.core import changes
from kappa.core.changes import Attempt, Change, Outcome
from kappa.core.installation.settings import Settings, variables
from kappa.core.job_catalog import EXECUTOR_CORES
from kappa.core.refusals import Refusal
from kappa.core.spark_environment import OF_ITS_OWN_PROCESS, environment
from kappa.platform import Platform
from kappa.verbs.drivers.size import NOTHING, Size, local_memory_mb, shortage, size_of
from kappa.verbs.drivers.submission import SHORT_JVM_OPTIONS, archived, guarded, jars


class Program(StrEnum):
    """The finite Spark programs; each is `jobs/<program>.py` of an artifact."""

    REPARTITION = "repartition"
    TRIAL = "trial"


@dataclass(frozen=True)
class FiniteWork:
    """One run of a program: what spark-submit is told, and what the program is. It runs from the artifact that the
    version is to run as."""

    name: str
    application: str
    arguments: tuple[str, ...]
    jars: str
    driver_memory: str
    configuration: Mapping[str, str]
    environment: Mapping[str, str]


class FiniteWorkRefused(Refusal):
    """A finite Spark program looked and said no: it would do so again."""

    def __init__(self, program: Program, change: Change, sentence: str) -> None:
        super().__init__(f"{change.name}: the {program} was refused. {sentence}")


class FiniteWorkFailed(Exception):  # noqa: N818 - it is what happened
    """A finite Spark program ended of what may pass, such as a part that did not answer; worth another try."""

    def __init__(self, program: Program, change: Change, sentence: str) -> None:
        super().__init__(
            f"{change.name}: the {program} failed ({sentence}), which may pass. It is tried again some times; "
            "after the last, start a new run."
        )


class EndedWithoutWord(Exception):  # noqa: N818 - it is what happened
    """A finite Spark program is gone and left no outcome, as where its host was lost; worth another try."""

    def __init__(self, program: Program, how: str) -> None:
        super().__init__(f"the {program} ended ({how}) and left no outcome; it is tried again")


class FailedWhileHeld(Refusal):
    """A finite Spark program failed, and the version stands still for it: it is not tried again in this run."""

    def __init__(self, program: Program, change: Change, sentence: str) -> None:
        super().__init__(
            f"{change.name}: the {program} failed ({sentence}), and is not tried again while the version is held for "
            "it: that runs on as it was. Start a new run once this has passed."
        )


class ChangeHasEnded(Refusal):
    """A change that has ended needs no more work."""

    def __init__(self, program: Program, change: Change) -> None:
        super().__init__(
            f"{change.name}: its {change.verb} has ended ({change.phase}), so the {program} was not started; nothing "
            f"was changed. Start a new run."
        )


def finite_work(
    settings: Settings, change: Change, program: Program, attempt: UUID, python: str = sys.executable
) -> FiniteWork:
    """How an attempt at a program is started for a change."""
    artifact = settings.artifacts / change.new.artifact
    of_version = ("--home", str(settings.home), "--job", change.job, "--version", str(change.version))
    return FiniteWork(
        name=f"kappa-{program}-{change.job}-v{change.version}",
        application=str(artifact / "jobs" / f"{program}.py"),
        arguments=(*of_version, "--change", str(change.change_id), *_which(settings, change, attempt)),
        jars=jars(settings),
        driver_memory=f"{local_memory_mb(change.new.settings)}m",
        configuration={
            **OF_ITS_OWN_PROCESS,
            "spark.driver.extraJavaOptions": f"{SHORT_JVM_OPTIONS} {archived(settings)}",
            "spark.log.level": "WARN",
            **guarded(settings),
        },
        environment=environment(artifact, python) | variables(settings),
    )


def finite_submission(settings: Settings, change: Change, program: Program, attempt: UUID) -> Submission:
    """The submission of an attempt at a program, as a driver that does its work itself and is not started again."""
    python = python_of(settings, settings.artifacts / change.new.artifact)
    work, size = finite_work(settings, change, program, attempt, python), _size(change)
    return Submission(
        launch_id=attempt,
        name=work.name,
        arguments=(work.application, *work.arguments),
        environment=work.environment,
        configuration=work.configuration,
        cluster=settings.spark_master,
        driver_cores=size.driver_cores,
        driver_memory_mb=size.driver_memory_mb,
        executors=0,
        executor_cores=size.driver_cores,
        jars=work.jars,
        supervised=False,
    )


def why_in_the_task(platform: Platform, change: Change, program: Program) -> str:
    """Why the task runs a program itself and not the cluster, in words; empty where the cluster does.

    A repartition leaves room for the next driver, which is started at the same time. A task that does not see the
    program cannot run it. Raises Unreachable.
    """
    if platform.settings.is_embedded:
        return "the stack is on one machine"
    if not sees_files(platform.settings):
        return ""
    if not _knows_attempts(platform.settings, change.new.artifact):
        return f"artifact {change.new.artifact} is older than programs that leave their outcome in the registry"
    own, capacity = _size(change), platform.cluster.capacity()
    if lacking := shortage(own, NOTHING, capacity):
        return f"on the cluster it would take {lacking}"
    driver = size_of(change.new.settings)
    if program is Program.REPARTITION and not shortage(driver, NOTHING, capacity):
        lacks_cores = own.cores + driver.cores > capacity.free_cores
        if lacks_cores or own.memory_mb + driver.memory_mb > capacity.free_memory_mb:
            return "on the cluster it would take the room of the next driver"
    return ""


def attempt_of(platform: Platform, change: Change, program: Program) -> Attempt | None:
    """The newest attempt at a program of this change; an older artifact's leaves a file, which counts as its."""
    found = platform.registry.attempt(change.change_id, program)
    file = older_outcome_file(platform.settings, change, program)
    if (found is None or found.outcome is None) and file.exists():
        left = Outcome.from_json(json.loads(file.read_text()))
        return Attempt(found.attempt_id if found else change.change_id, outcome=left)
    return found


def outcome(platform: Platform, change: Change, program: Program) -> Outcome | None:
    """What the newest attempt at a program said at its end; None where it said nothing."""
    found = attempt_of(platform, change, program)
    return found.outcome if found else None


def begin(platform: Platform, change: Change, program: Program, attempt: UUID) -> None:
    """Write down that an attempt begins; what the one before left does not count any more."""
    older_outcome_file(platform.settings, change, program).unlink(missing_ok=True)
    platform.registry.begin_attempt(change.change_id, program, attempt)


def work_folder(settings: Settings, change: Change) -> Path:
    """Where programs of older artifacts leave their outcomes, as every host sees it."""
    return changes.work_folder(settings.shared, change.change_id)


def older_outcome_file(settings: Settings, change: Change, program: Program) -> Path:
    """Where a program of an older artifact leaves its outcome."""
    return work_folder(settings, change) / f"{program}.json"


def drop_scratch(settings: Settings, change: Change) -> None:
    """Delete the checkpoints that a change's programs worked on. The outcomes of older artifacts' programs, which lie
    beside them where the store is the shared folder, stay: they say why a change was undone."""
    scratch = settings.scratch(change.change_id)
    outcomes = {older_outcome_file(settings, change, program).name for program in Program}
    names = scratch.names()
    for place in [scratch / name for name in names - outcomes] if names & outcomes else [scratch]:
        place.delete()


def _size(change: Change) -> Size:
    """What a program takes: it plans and does the work itself."""
    given = change.new.settings
    return Size(given[EXECUTOR_CORES], local_memory_mb(given))


def _knows_attempts(settings: Settings, artifact: str) -> bool:
    """Whether the programs of an artifact leave their outcome in the registry."""
    return "--attempt" in (source(settings, artifact, "jobs/outcome.py") or "")


def _which(settings: Settings, change: Change, attempt: UUID) -> tuple[str, ...]:
    return ("--attempt", str(attempt)) if _knows_attempts(settings, change.new.artifact) else ()
