"""How a finite Spark program of a change is started, and the outcome that it leaves; no secret among it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kappa.core import changes
from kappa.core.changes import Change, Outcome
from kappa.core.installation.settings import Settings, variables
from kappa.core.refusals import Refusal
from kappa.core.spark_environment import OF_ITS_OWN_PROCESS, environment
from kappa.verbs.drivers.size import local_memory_mb
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


def finite_work(settings: Settings, change: Change, program: Program, python: str = sys.executable) -> FiniteWork:
    """How a program is started for a change."""
    artifact = settings.artifacts / change.new.artifact
    of_version = ("--home", str(settings.home), "--job", change.job, "--version", str(change.version))
    return FiniteWork(
        name=f"kappa-{program}-{change.job}-v{change.version}",
        application=str(artifact / "jobs" / f"{program}.py"),
        arguments=(*of_version, "--change", str(change.change_id)),
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


def work_folder(settings: Settings, change: Change) -> Path:
    """Where the programs of a change leave their outcomes, as every host sees it."""
    return changes.work_folder(settings.shared, change.change_id)


def outcome_file(settings: Settings, change: Change, program: Program) -> Path:
    """Where a program leaves its outcome."""
    return changes.outcome_file(settings.shared, change.change_id, program)


def outcome(settings: Settings, change: Change, program: Program) -> Outcome | None:
    """What a program that has ended for this change said; None where it said nothing."""
    file = outcome_file(settings, change, program)
    if not file.exists():
        return None
    return Outcome.from_json(json.loads(file.read_text()))


def drop_scratch(settings: Settings, change: Change) -> None:
    """Delete the checkpoints that a change's programs worked on. The outcomes, which lie beside them where the store is
    the shared folder, stay: they say why a change was undone."""
    scratch = settings.scratch(change.change_id)
    outcomes = {outcome_file(settings, change, program).name for program in Program}
    names = scratch.names()
    for place in [scratch / name for name in names - outcomes] if names & outcomes else [scratch]:
        place.delete()
