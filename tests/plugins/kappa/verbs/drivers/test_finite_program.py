"""The finite programs of a change: what is started, where each runs, and what an older artifact's leaves."""

from __future__ import annotations

import json
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from kappa.core.audit import Author
from kappa.core.changes import Attempt, Change, Outcome
from kappa.core.installation.addresses import Postgres, Spark
from kappa.core.job_catalog import EXECUTOR_CORES, EXECUTORS
from kappa.verbs.change import steps
from kappa.verbs.drivers import finite_program
from kappa.verbs.drivers.finite_program import Program, finite_submission, finite_work
from tests.plugins.change_runs import JOB, deployed, wider
from tests.plugins.conftest import Stage

ATTEMPT = UUID(int=9)


@pytest.fixture
def change(stage: Stage, author: Author) -> Change:
    """A rescale of a job on hosts of its own, by an artifact whose programs know of tries."""
    stage.platform = replace(
        stage.platform,
        settings=replace(stage.platform.settings, postgres=Postgres("pg"), spark=Spark("spark://m1:7077")),
    )
    old = deployed(stage, author)
    return steps.begin(stage.platform, "rescale", JOB, 1, old, wider(old), author)


def test_what_is_started_runs_from_the_artifact_that_the_version_is_to_run_as(stage: Stage, change: Change) -> None:
    settings = stage.platform.settings
    for jar in ("b.jar", "a.jar"):
        (settings.jars / jar).touch()
    work = finite_work(settings, change, Program.REPARTITION, ATTEMPT, python="/env/bin/python")
    artifact = settings.artifacts / change.new.artifact
    assert work.application == str(artifact / "jobs" / "repartition.py")
    assert work.arguments == (
        "--home", str(settings.home), "--job", JOB, "--version", "1", "--change", str(change.change_id),
        "--attempt", str(ATTEMPT),
    )  # fmt: skip
    assert work.environment["PYTHONPATH"] == f"{artifact}:{artifact}/plugins"
    assert work.environment["PYSPARK_PYTHON"] == "/env/bin/python"
    assert work.configuration["spark.driver.host"] == "127.0.0.1"
    assert work.jars == f"{settings.jars}/a.jar,{settings.jars}/b.jar,{settings.jars}/kappa-spark.jar"
    assert work.driver_memory == f"{change.new.settings['executor_memory_mb'] + 256}m"
    assert work.configuration["spark.authenticate"] == "true"


def test_on_the_cluster_it_is_a_driver_of_its_own_that_is_not_started_again(stage: Stage, change: Change) -> None:
    asked = finite_submission(stage.platform.settings, change, Program.TRIAL, ATTEMPT)
    assert (asked.launch_id, asked.supervised, asked.executors, asked.secret) == (ATTEMPT, False, 0, None)
    assert asked.driver_cores == asked.executor_cores == change.new.settings[EXECUTOR_CORES]
    assert asked.arguments[0].endswith(f"/{change.new.artifact}/jobs/trial.py")


def test_it_runs_on_the_cluster_where_that_has_several_hosts(stage: Stage, change: Change) -> None:
    assert [finite_program.why_in_the_task(stage.platform, change, program) for program in Program] == ["", ""]
    embedded = replace(stage.platform, settings=replace(stage.platform.settings, postgres=Postgres()))
    assert "on one machine" in finite_program.why_in_the_task(embedded, change, Program.TRIAL)


def test_a_repartition_leaves_room_for_the_next_driver(stage: Stage, change: Change) -> None:
    """Which is started at the same time; where that has none anyway, nothing is left."""
    change = replace(change, new=replace(change.new, settings={**change.new.settings, EXECUTOR_CORES: 2, EXECUTORS: 2}))

    def why(free: int, program: Program) -> str:
        stage.cluster.free = free
        return finite_program.why_in_the_task(stage.platform, change, program)

    assert why(7, Program.REPARTITION) == ""
    assert why(6, Program.REPARTITION) == "on the cluster it would take the room of the next driver"
    assert why(6, Program.TRIAL) == ""
    assert why(4, Program.REPARTITION) == ""
    assert "2 cores of the cluster, which has 1 for it" in why(1, Program.TRIAL)


def test_a_program_of_an_older_artifact_runs_in_the_task_and_leaves_a_file(stage: Stage, change: Change) -> None:
    older = replace(change, new=replace(change.new, artifact="0lder"))
    assert "artifact 0lder is older" in finite_program.why_in_the_task(stage.platform, older, Program.TRIAL)
    assert "--attempt" not in finite_work(stage.platform.settings, older, Program.TRIAL, ATTEMPT).arguments
    finite_program.begin(stage.platform, older, Program.TRIAL, ATTEMPT)
    file = finite_program.work_folder(stage.platform.settings, older) / "trial.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"ok": True, "sentence": "it counted", "evidence": {}}))
    assert finite_program.attempt_of(stage.platform, older, Program.TRIAL) == Attempt(
        ATTEMPT, None, Outcome("it counted", {})
    )
    finite_program.begin(stage.platform, older, Program.TRIAL, uuid4())
    assert finite_program.outcome(stage.platform, older, Program.TRIAL) is None
