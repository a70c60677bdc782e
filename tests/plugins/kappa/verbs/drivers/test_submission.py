"""A submission sizes and places the application; where the work is done is the version's setting."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.java_gateway import launch_gateway

from kappa.core.installation.addresses import Places, Spark
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import find, resolve
from kappa.core.versions import Desired, State, Version
from kappa.standalone_cluster import creation
from kappa.verbs.drivers.submission import (
    JVM_OPTIONS,
    SHORT_JVM_OPTIONS,
    NoSparkJar,
    jars,
    submission,
)
from tests.plugins.stages import put_checkpoint_jar, store_apart

HERE = Settings(home=Path("/state"))
JVM_WITHOUT_MEMORY = 3
"""Its exit code."""


@pytest.fixture(autouse=True)
def there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The jars of a state folder that is on no disk."""
    monkeypatch.setattr("kappa.verbs.drivers.submission.jars", lambda _: "/state/jars/spark/one.jar")


def test_an_application_has_all_jars_of_their_folder_and_none_without_the_keeper_of_checkpoints(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    settings.jars.mkdir(parents=True)
    (settings.jars / "another.jar").touch()
    with pytest.raises(NoSparkJar, match=r"kappa-spark\.jar .*elsewhere copy stack/.*Nothing was started"):
        jars(settings)
    put_checkpoint_jar(settings)
    assert jars(settings) == f"{settings.jars}/another.jar,{settings.jars}/kappa-spark.jar"


@dataclass(frozen=True)
class Asked:
    """What a standalone master is asked for a submission."""

    arguments: tuple[str, ...]
    environment: dict[str, str]
    properties: dict[str, str]


def _submission(standby: bool = False, settings: Settings = HERE, **given: int) -> Asked:
    version: dict[str, Any] = {
        "job": "ad_ctr",
        "version": 2,
        "artifact": "abc",
        "settings": resolve(find("ad_ctr"), given),
        "topic": "t",
        "topic_id": "i",
        "state_digest": "s",
        "result_digest": "r",
        "state": State.STAGED,
        "desired": Desired.RUNNING,
        "starts_at": datetime(2026, 1, 1, tzinfo=UTC),
        "start_offsets": {0: 0},
    }
    asked = creation(submission(settings, Version(**version), UUID(int=1), standby))
    return Asked(tuple(asked["appArgs"]), asked["environmentVariables"], asked["sparkProperties"])


def _option(made: Asked, name: str) -> str:
    return made.arguments[made.arguments.index(name) + 1]


def test_by_default_the_drivers_own_process_does_the_work() -> None:
    made = _submission(executor_cores=2)
    assert _option(made, "--master") == "local[2]"
    assert made.properties["spark.driver.memory"] == "768m"
    assert made.properties["spark.driver.cores"] == "2"


def test_with_an_executor_the_cluster_does_it() -> None:
    made = _submission(executors=1, executor_cores=2)
    assert _option(made, "--master") == "spark://127.0.0.1:17077"
    assert "spark.executor.memory=512m" in made.arguments
    assert made.properties["spark.driver.memory"] == "512m"
    assert "TieredStopAtLevel=1" in made.properties["spark.driver.extraJavaOptions"]


def test_on_executors_no_consumer_outlasts_the_time_in_which_another_broker_leads() -> None:
    """It would ask the one that is lost. Alone on one machine there is no other one."""
    kept = "spark.kafka.consumer.cache.timeout=6s"
    assert kept in _submission(executors=1).arguments
    assert not [said for said in _submission().arguments if "consumer.cache" in said]


@pytest.mark.parametrize(("executors", "most"), [(0, 2), (1, 2), (3, 6)])
def test_an_application_has_the_cores_of_all_its_executors_and_no_more(executors: int, most: int) -> None:
    """Spark starts executors for as long as it has fewer cores than that, each of executor_cores."""
    made = _submission(executors=executors, executor_cores=2)
    assert f"spark.cores.max={most}" in made.arguments
    assert "spark.executor.cores=2" in made.arguments
    assert made.properties["spark.driver.cores"] == ("1" if executors else "2")


@pytest.mark.parametrize("executors", [0, 1])
def test_a_driver_answers_only_who_knows_its_secret_which_executors_learn_from_a_file(executors: int) -> None:
    made = _submission(executors=executors)
    assert "spark.authenticate=true" in made.arguments
    assert made.properties["spark.authenticate"] == "true"
    file = "/state/secrets/spark-auth.properties"
    assert ("--properties-file" in made.arguments, file in made.arguments) == (bool(executors),) * 2


def test_off_one_machine_nothing_is_said_in_the_clear_and_whoever_does_not_encrypt_is_not_spoken_to() -> None:
    elsewhere = replace(HERE, postgres=replace(HERE.postgres, host="pg"))
    crypto = {"spark.network.crypto.enabled": "true", "spark.network.crypto.saslFallback": "false"}
    made = _submission(settings=elsewhere, executors=1)
    assert {name: made.properties.get(name) for name in crypto} == crypto, "of the driver's JVM before its session"
    assert {f"{name}={value}" for name, value in crypto.items()} <= set(made.arguments)
    assert not any("crypto" in word for word in _submission(executors=1).arguments), "the embedded stack is on loopback"


def test_drivers_and_executors_return_what_they_free() -> None:
    made = _submission(executors=1)
    assert made.environment["ARROW_DEFAULT_MEMORY_POOL"] == "system"
    assert "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL=system" in made.arguments


@pytest.mark.parametrize("options", [JVM_OPTIONS, SHORT_JVM_OPTIONS])
def test_a_jvm_in_which_any_thread_has_no_memory_ends(monkeypatch: pytest.MonkeyPatch, options: str) -> None:
    """As a thread that fetches a result does, py4j answers an OutOfMemoryError without ending the process."""
    submit = f"--driver-memory 64m --driver-java-options '{options}' pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", submit)
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    try:
        with pytest.raises((Py4JNetworkError, ConnectionError)):
            gateway.jvm.java.util.ArrayList(2**27)
        assert gateway.proc.wait(10) == JVM_WITHOUT_MEMORY
    finally:
        gateway.proc.kill()


def test_the_program_is_the_versions_own_artifact_and_its_launch() -> None:
    made = _submission()
    assert "/state/artifacts/abc/jobs/run.py" in made.arguments
    assert _option(made, "--launch") == str(UUID(int=1))
    assert made.properties["spark.driver.supervise"] == "true"


def test_drivers_run_by_the_python_of_their_hosts_where_the_settings_name_one() -> None:
    elsewhere = replace(HERE, spark=Spark("spark://m:7077", ("http://m",), ("http://m",), python="/opt/kappa/python"))
    for settings, python in ((HERE, sys.executable), (elsewhere, "/opt/kappa/python")):
        found = _submission(settings=settings).environment
        assert (found["PYSPARK_PYTHON"], found["PYSPARK_DRIVER_PYTHON"]) == (python, python)


@pytest.mark.parametrize("word", ["passfile", "password", "secret"])
def test_no_secret_is_in_a_submission(word: str) -> None:
    made = _submission()
    assert word not in " ".join((*made.arguments, *made.environment.values(), *made.properties.values()))


def test_a_driver_that_stands_by_differs_by_one_word() -> None:
    assert _submission(standby=True).arguments == (*_submission().arguments, "--standby")


def test_where_this_host_does_not_see_the_jars_those_of_the_drivers_host_count(tmp_path: Path) -> None:
    """SparkSubmit, which the worker starts there, lists them."""
    there = store_apart(Settings(home=tmp_path), tmp_path)
    assert jars(there) == f"{tmp_path}/shared/jars/spark/*.jar"
    with pytest.raises(NoSparkJar):
        jars(replace(there, places=Places(shared=there.places.shared)))
