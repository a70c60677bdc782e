"""On several hosts, all of it secured: a host of the installation is cut off, and the stream goes on, exact."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import psutil
import pytest

from kappa.core.installation.kafka_access import PASSWORD, KafkaUser
from kappa.core.installation.settings import ROLES
from stack.services import passwords
from stack.waiting import until
from tests.rigs.lab import hosts, services
from tests.rigs.lab.services import WORKERS, Installed

pytestmark = pytest.mark.long(minutes=2)
JOB = "ad_ctr"
ON_TWO_HOSTS = {"executors": 2, "executor_cores": 1, "executor_memory_mb": 512, "state_partitions": 2}
PATIENCE_SECONDS = 300.0
"""A minute and more until another driver has committed, on two cores; on busy ones several."""


@pytest.fixture(scope="module")
def installed() -> Iterator[Installed]:
    if why := hosts.missing():
        pytest.skip(why)
    folder = Path(tempfile.mkdtemp(prefix="kappa-lab-"))
    folder.chmod(0o755)
    try:
        with hosts.lab(folder, *services.HOSTS) as lab:
            made = services.install(lab)
            services.await_health(made)
            yield made
    finally:
        rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def deployed(installed: Installed) -> Installed:
    """A job with an executor on each of two hosts, which has read the log."""
    installed.ask("produce", "1", "2000")
    said = installed.ask("deploy", JOB, json.dumps(ON_TWO_HOSTS), seconds=PATIENCE_SECONDS)
    assert "is deployed" in said
    await_read(installed)
    return installed


def test_a_job_works_on_two_hosts_and_is_exact(deployed: Installed) -> None:
    apps = {host: list((deployed.lab.folder / "spark" / host).glob("app-*/*/stderr")) for host in WORKERS}
    assert all(apps.values()), f"an executor on each host: {apps}"
    assert json.loads(deployed.ask("differences")) == []


def test_no_secret_is_in_any_file_but_its_own_or_on_a_command_line(deployed: Installed) -> None:
    """Logs, checkpoints, the shared folder, the folders of brokers, drivers and executors."""
    folder, settings = deployed.lab.folder, deployed.settings
    held = {role: passwords.password(settings, role) for role in (*ROLES, passwords.SUPERUSER)}
    held |= {str(user): settings.kafka_access(user).librdkafka()[PASSWORD] for user in KafkaUser}
    held |= {"spark": passwords.spark_secret(settings), "spark-rest": settings.spark_key.read_text().strip()}
    secret = {name: word.encode() for name, word in held.items()}
    told = [file for file in folder.rglob("*") if file.is_file() and settings.secrets not in file.parents]
    assert {"k1", "shared", "spark", "logs"} <= {file.relative_to(folder).parts[0] for file in told}
    found = {(name, file) for file in told for name, word in secret.items() if word in file.read_bytes()}
    assert found == set()
    lines = [repr(process.info["cmdline"]).encode() for process in psutil.process_iter(["cmdline"])]
    assert any(b"kafka.Kafka" in line for line in lines)
    assert [name for name, word in secret.items() if any(word in line for line in lines)] == []


@pytest.mark.fault("F25", "another driver on another host, by itself; a new epoch; differences are 0")
def test_the_drivers_host_is_cut_off_and_another_driver_goes_on_from_where_it_was(deployed: Installed) -> None:
    host, before = drivers_host(deployed), state(deployed)
    deployed.lab.cut(host)
    cut = time.time()
    deployed.ask("produce", "2", "1000")
    assert until(lambda: state(deployed)["epoch"] > before["epoch"], PATIENCE_SECONDS, 1.0), "nobody took its place"
    gap = state(deployed)["committed"] - cut
    deployed.lab.heal(host)
    deployed.ask("produce", "3", "500")
    await_read(deployed)
    print(f"{gap:.0f} s from the cut to the first commit of the next driver")
    assert json.loads(deployed.ask("differences")) == []


def drivers_host(installed: Installed) -> str:
    """The host that the newest driver runs on."""
    found = {folder: host for host in WORKERS for folder in (installed.lab.folder / "spark" / host).glob("driver-*")}
    return found[max(found, key=lambda folder: folder.name)]


def state(installed: Installed) -> dict[str, float]:
    """What the client tells of the job."""
    told = json.loads(installed.ask("state", JOB))
    return dict(zip(("unread", "epoch", "batches", "committed"), told, strict=True))


def await_read(installed: Installed) -> None:
    assert until(lambda: state(installed)["unread"] == 0, PATIENCE_SECONDS, 1.0), "the log was not read"
