"""How a version's driver is started: its program, its environment and its size; no secret among them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from kappa.cluster import Submission
from kappa.code.environments import python_of
from kappa.code.known_artifacts import sees_files
from kappa.core.installation.settings import Settings, variables
from kappa.core.job_catalog import EXECUTOR_CORES, EXECUTORS
from kappa.core.refusals import Refusal
from kappa.core.spark_environment import (
    LIBRARIES,
    OF_ITS_OWN_PROCESS,
    SPARK_JAR,
    environment,
    search_path,
)
from kappa.core.versions import Version
from kappa.verbs.drivers.size import size_of

# Spark ends the process when a task runs out of memory, but not when a thread does that fetches a result or hands it
# over: the batch then waits for ever for an answer, in a driver that beats (docs/decisions/0038). By its defaults a JVM
# collects its whole heap as its classes pass 21 MB, and again soon after, while the first batches wait (0086). Some
# builds of Java map archived classes at an address that is drawn, and write each page of them to say so: then each JVM
# has 130 MB of its own that all could share (0096).
_OF_EACH_JVM = (
    "-XX:+UseSerialGC -XX:+ExitOnOutOfMemoryError -XX:MetaspaceSize=64m "
    "-XX:+UnlockDiagnosticVMOptions -XX:ArchiveRelocationMode=0 "
    # By default a heap is 1.7 to 3.3 times as large as what lives in it, where that is seldom looked at.
    "-XX:MinHeapFreeRatio=15 -XX:MaxHeapFreeRatio=30 -XX:-ShrinkHeapInSteps"
)
# The second compiler waits ten times as long as by default: a third of the CPU of a start was code that it had
# compiled and never ran again; what a stream does all day still comes to it.
JVM_OPTIONS = (
    f"{_OF_EACH_JVM} -XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
# What is over soon, or only plans and waits: the second compiler never pays for itself there.
SHORT_JVM_OPTIONS = f"{_OF_EACH_JVM} -XX:TieredStopAtLevel=1"
_GUARDED = {"spark.authenticate": "true", "spark.ui.enabled": "false"}
"""Whoever connects to a port of Spark must know its secret, which is in files and environments only (decision 0033); a
driver has no page, which would tell whoever asks."""
_ON_EXECUTORS = {
    # An answer that does not come is waited for once or twice so long: a host of which nothing arrives any more ends no
    # connection. Spark's 120 s are as long for a batch, which the loss of the executor does not interrupt (0065).
    "spark.shuffle.io.connectionTimeout": "12s",
    # Who leads a partition is asked by each of Kafka's consumers for itself, of the broker that it read from, and one
    # after the other within a task. So none is kept that has read nothing for nearly as long as it takes another one to
    # lead; by default that is five minutes, and looked for once in one (0065).
    "spark.kafka.consumer.cache.timeout": "6s",
    "spark.kafka.consumer.cache.evictorThreadRunInterval": "1s",
}
_ENCRYPTED = {"spark.network.crypto.enabled": "true", "spark.network.crypto.saslFallback": "false"}
"""Whoever does not encrypt is not spoken to: by Spark's default a process would go on without."""


class NoSparkJar(Refusal):
    """The jar of our own for Spark is not where its jars are."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"there is no {SPARK_JAR} in {folder}, by which Spark keeps checkpoints and evicts. './kappa up' puts it "
            f"there; elsewhere copy stack/services/spark_java/{SPARK_JAR} of this release into that folder. Nothing "
            "was started."
        )


def guarded(settings: Settings) -> dict[str, str]:
    """Settings of every Spark application: who connects is asked for the secret, and what leaves a machine is
    encrypted. Masters and workers that are not the embedded stack's must have the same, and sign their pages."""
    return _GUARDED | ({} if settings.is_embedded else _ENCRYPTED)


def application_name(job: str, version: int) -> str:
    """The name that the cluster shows."""
    return f"kappa-{job}-v{version}"


def submission(settings: Settings, version: Version, launch_id: UUID, standby: bool = False) -> Submission:
    """The submission of one launch of a version's driver, from the version's own artifact; `standby`: the driver warms
    up and waits until the launch, which bears the id of a change, is there."""
    artifact, size = settings.artifacts / version.artifact, size_of(version.settings)
    driver = [str(artifact / "jobs" / "run.py"), "--home", str(settings.home), "--job", version.job]
    driver += ["--version", str(version.version), "--launch", str(launch_id)]
    driver += ["--standby"] if standby else []
    return Submission(
        launch_id=launch_id,
        name=application_name(version.job, version.version),
        arguments=tuple(driver),
        environment=environment(artifact, python_of(settings, artifact)) | variables(settings),
        configuration=_configuration(settings, artifact, version.settings),
        cluster=settings.spark_master,
        driver_cores=size.driver_cores,
        driver_memory_mb=size.driver_memory_mb,
        executors=version.settings[EXECUTORS],
        executor_cores=version.settings[EXECUTOR_CORES],
        jars=jars(settings),
        # Executors must know the secret of master and worker; in its own process a driver makes up one for itself.
        secret=settings.spark_auth if version.settings[EXECUTORS] else None,
    )


def _driver_jvm_options(settings: Settings, given: Mapping[str, int]) -> str:
    return f"{SHORT_JVM_OPTIONS if given[EXECUTORS] else JVM_OPTIONS} {archived(settings)}"


def archived(settings: Settings) -> str:
    """The option by which a JVM maps classes that are archived already; without the file it has no effect."""
    return f"-XX:SharedArchiveFile={settings.class_archive}"


def jars(settings: Settings) -> str:
    """The jars that a Spark application needs, as `--jars` takes them; those that its driver's host has, where this one
    does not see the shared folder. Raises NoSparkJar."""
    if not sees_files(settings):
        return f"{settings.jars}/*.jar"
    found = sorted(settings.jars.glob("*.jar"))
    if SPARK_JAR not in {jar.name for jar in found}:
        raise NoSparkJar(settings.jars)
    return ",".join(map(str, found))


def _configuration(settings: Settings, artifact: Path, given: Mapping[str, int]) -> dict[str, str]:
    """What driver and executors are given; the query's own configuration is the driver's."""
    return {
        "spark.executor.memory": f"{given['executor_memory_mb']}m",
        **(_ON_EXECUTORS if given[EXECUTORS] else OF_ITS_OWN_PROCESS),
        "spark.driver.extraJavaOptions": _driver_jvm_options(settings, given),
        "spark.executor.extraJavaOptions": f"{JVM_OPTIONS} {archived(settings)}",
        "spark.log.level": "WARN",
        **guarded(settings),
        "spark.executorEnv.PYTHONPATH": search_path(artifact),
        **{f"spark.executorEnv.{name}": value for name, value in LIBRARIES.items()},
    }
