"""docker-compose.yml with all its profiles, for real: three brokers, checkpoints in the bucket, exact numbers, the
keys only where they are used, and Terraform's `targets/local` applied to it."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from cli.entry import CHECKOUT
from kappa.core.installation.kafka_access import RIGHTS, KafkaUser
from stack.containers import bucket, names
from stack.provisioning import log_access, providers
from stack.provisioning.terraform import Target
from stack.services import airflow
from tests.rigs.containers import engine as containers
from tests.rigs.containers.composed import IMAGES, Composed, composed, timed
from tests.stack.containers.test_composed import CACHE
from tests.stack.provisioning import terraform_tree

pytestmark = [pytest.mark.provisioning, pytest.mark.long(minutes=5)]
CHOSEN = {"KAPPA_S3": 1, "KAPPA_BROKERS": 3, "COMPOSE_PROFILES": f"{names.S3},{names.THREE_BROKERS}"}
JOB = "ad_ctr"
USERS = {names.WORKER, *airflow.COMMANDS}


@pytest.fixture(scope="module")
def deployed() -> Iterator[Composed]:
    """One job, deployed by Airflow, and 20,000 records read."""
    if why := containers.missing():
        pytest.skip(why)
    folder = Path(tempfile.mkdtemp(prefix="kappa-composed-"))
    try:
        images = (*IMAGES, names.S3)
        with containers.engine(CACHE) as engine, composed(engine, folder, CHOSEN, images=images) as made:
            made.deploy(JOB)
            made.produce(20_000, 1)
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def in_bucket(deployed: Composed) -> list[str]:
    """The files of the bucket."""
    (server,) = deployed.containers(names.S3)
    return deployed.inside(server, f"cd {bucket.DATA / bucket.NAME} && find . -type f").split()


def test_checkpoints_lie_in_the_bucket_only_and_the_numbers_are_exact(deployed: Composed) -> None:
    files = in_bucket(deployed)
    assert [file for file in files if file.startswith(f"./state/checkpoints/{JOB}/v1/")]
    assert not (deployed.settings.shared / "checkpoints").exists()
    verdict = deployed.kappa("reconcile")
    assert (verdict.returncode, "0 differences" in verdict.stdout) == (0, True), verdict.stdout


def test_the_command_finds_the_store_well_with_the_keys_that_were_made(deployed: Composed) -> None:
    found = deployed.kappa("doctor", more=bucket.keys(deployed.settings.secrets))
    assert found.returncode == 0, found.stdout


def test_a_rescale_and_a_killed_worker_go_on_from_the_bucket(deployed: Composed) -> None:
    before = set(in_bucket(deployed))
    more = int(deployed.status()["jobs"][0]["versions"][0]["state_partitions"]) * 2
    with timed("rescale"):
        done = deployed.kappa("rescale", JOB, "--partitions", str(more), "--reason", "test", seconds=500)
    assert done.returncode == 0, done.stderr
    assert set(in_bucket(deployed)) - before
    (worker,) = deployed.containers(names.WORKER)
    os.kill(int(deployed.inspect(worker, "{{.State.Pid}}")), signal.SIGKILL)
    deployed.produce(10_000, 1)
    assert deployed.status()["jobs"][0]["versions"][0]["state_partitions"] == more
    assert deployed.kappa("reconcile").returncode == 0


def test_a_broker_of_three_that_is_killed_is_missed_by_nobody(deployed: Composed) -> None:
    (broker,) = deployed.containers(names.BROKERS[1])
    os.kill(int(deployed.inspect(broker, "{{.State.Pid}}")), signal.SIGKILL)
    deployed.produce(10_000, 1)
    assert deployed.kappa("reconcile").returncode == 0


def test_the_key_is_in_the_processes_of_those_who_use_the_bucket_and_nowhere_else(deployed: Composed) -> None:
    key = bucket.keys(deployed.settings.secrets)["AWS_SECRET_ACCESS_KEY"]
    for container in deployed.engine.run("podman", "ps", "-aq").split():
        known = deployed.engine.run("podman", "inspect", container) + deployed.engine.run("podman", "logs", container)
        known += deployed.engine.run("podman", "history", "--no-trunc", deployed.inspect(container, "{{.Image}}"))
        assert key not in known, deployed.inspect(container, "{{.Name}}")
    for service in deployed.compose("ps", "--services").split():
        for container in deployed.containers(service):
            assert key not in deployed.inside(container, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' || :")
            there = key in deployed.inside(container, "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' || :")
            # Airflow's processes write their titles over what is told of their environment.
            assert there if service == names.WORKER else service in USERS or not there, service


def test_who_has_no_key_is_not_let_in(deployed: Composed) -> None:
    port = deployed.settings.places.store.rpartition(":")[2]
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/{bucket.NAME}", timeout=10)


def test_terraform_takes_over_what_the_init_job_made_and_mends_what_somebody_changed(
    deployed: Composed, tmp_path: Path
) -> None:
    terraform_tree.needed("targets/local")
    settings = deployed.settings
    mirrors = list(providers.mirrors(CHECKOUT, os.environ).values())
    target = Target("local", CHECKOUT, tmp_path / "terraform", mirrors, dict(os.environ))
    with timed("init and apply"):
        log_access.apply(target, settings, copies=3)
    assert not target.changes()
    assert target.outputs() == {"topic": settings.topic.name, "users": sorted(map(str, RIGHTS))}
    keep_an_hour_only(deployed)
    assert target.changes()
    with timed("apply, mending"):
        target.apply()
    deployed.compose("up", "-d", "--no-build", "--pull", "never")
    assert not target.changes(), "the init job makes the same of it"
    refused = target.run("destroy", "-auto-approve")
    assert (refused.returncode, "Instance cannot be destroyed" in refused.stdout) == (1, True)
    deployed.produce(1_000, 1)
    assert deployed.kappa("reconcile").returncode == 0


def keep_an_hour_only(deployed: Composed) -> None:
    """Change the topic's retention as its administrator may, from this machine."""
    settings = deployed.settings
    client = AdminClient(settings.kafka_access(KafkaUser.ADMIN).librdkafka())
    hour = ConfigEntry("retention.ms", "3600000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, settings.topic.name, incremental_configs=[hour])
    for future in client.incremental_alter_configs([resource]).values():
        future.result(30)
