"""`targets/cluster` from nothing to exact numbers on hosts of their own, and one more worker by a variable."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import pytest

from stack.provisioning.terraform import TerraformFailed
from stack.services import kafka_users
from stack.waiting import until
from tests.rigs.held_secrets import found, secrets_of
from tests.rigs.lab import hosts
from tests.rigs.lab.airflow import LabAirflow, start
from tests.rigs.lab.parts import BROKERS, CLIENT, MASTERS
from tests.rigs.lab.provisioned import FIRST, MASTER_UNIT, SECOND, Provisioned, provision
from tests.rigs.lab.services import HOSTS, Installed, await_health
from tests.rigs.lab.told import told_as_rendered
from tests.stack.provisioning import terraform_tree
from tests.stack.provisioning.terraform_tree import timed

pytestmark = [pytest.mark.provisioning, pytest.mark.long(minutes=0.4)]
JOB = "ad_ctr"
ON_ONE_HOST = [
    word
    for name, value in {"executors": 1, "executor_cores": 1, "executor_memory_mb": 512, "state_partitions": 2}.items()
    for word in ("--set", f"{name}={value}")
]
RECORDS, MORE = 200_000, 20_000
PATIENCE_SECONDS = 300.0


@pytest.fixture(scope="module")
def provisioned() -> Iterator[Provisioned]:
    if why := hosts.missing() or terraform_tree.lacking():
        pytest.skip(why)
    folder = Path(tempfile.mkdtemp(prefix="kappa-lab-"))
    folder.chmod(0o755)
    try:
        with hosts.lab(folder, *HOSTS) as lab:
            made = provision(lab)
            with timed("apply of targets/cluster"):
                made.apply()
            made.start()
            yield made
    finally:
        rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def installed(provisioned: Provisioned) -> Installed:
    """All parts are up, and topic and users made by `targets/local`, from the client's host."""
    made = provisioned.installed()
    with timed("brokers up, and apply of targets/local"):
        assert until(lambda: made.answer("access") is False, PATIENCE_SECONDS, 2.0), made.answer("access")
    with timed("all parts up, database migrated, artifact built"):
        await_health(made, workers=1)
    return made


@pytest.fixture(scope="module")
def airflow(provisioned: Provisioned, installed: Installed) -> LabAirflow:
    """Somebody's own Airflow, on the host that has the role."""
    told = told_as_rendered(provisioned.output / "hosts" / CLIENT, provisioned.secrets)
    with timed("an Airflow of one's own, with the wheel and what was rendered for it"):
        return start(installed.lab, CLIENT, told)


def test_brokers_are_told_what_the_code_knows_of_users(provisioned: Provisioned) -> None:
    settings = provisioned.installed().settings
    for host in BROKERS:
        text = (provisioned.output / "hosts" / host / "server.properties").read_text()
        told = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
        ours = kafka_users.properties(settings) | {
            "listener.security.protocol.map": f"{kafka_users.CLIENT}:SASL_SSL,{kafka_users.CONTROLLER}:SASL_SSL"
        }
        assert {name: told.get(name) for name in ours} == ours


def test_a_host_sees_the_secrets_of_its_roles_only(provisioned: Provisioned, installed: Installed) -> None:
    seen = {
        host: set(installed.lab.run(host, ["ls", str(provisioned.secrets)], 60).split()) for host in (FIRST, MASTERS[0])
    }
    assert seen == {
        FIRST: {
            "ca.pem", "host", "spark-worker.properties", "spark-auth.properties", "kafka_stream.properties",
            "kappa_writer.pgpass",
        },
        MASTERS[0]: {"ca.pem", "host", "spark-master.properties", "tls"},
    }  # fmt: skip


def test_the_second_plan_changes_nothing(provisioned: Provisioned, installed: Installed) -> None:
    with timed("plan of targets/cluster"):
        assert not provisioned.target.changes()
    assert json.loads(installed.ask("access")) is False


def test_a_file_that_somebody_changed_is_found_and_mended(provisioned: Provisioned) -> None:
    file = provisioned.output / "hosts" / BROKERS[0] / "server.properties"
    before = file.read_text()
    file.write_text(before.replace("SASL_SSL", "PLAINTEXT"))
    assert provisioned.target.changes()
    provisioned.target.apply()
    assert file.read_text() == before
    assert not provisioned.target.changes()


@pytest.mark.long(minutes=3)
def test_doctor_finds_all_well(airflow: LabAirflow) -> None:
    with timed("doctor"):
        tried = json.loads(airflow.kappa("doctor", "--json"))
    assert {one["part"] for one in tried} == {"host", "Postgres", "Kafka", "Spark", "Airflow"}
    assert [one for one in tried if not one["ok"]] == []


def test_the_monitor_watches_and_every_host_reaches_it(provisioned: Provisioned, installed: Installed) -> None:
    address = f"{installed.settings.metrics.url}/metrics"
    assert address.startswith(f"http://{CLIENT}:")
    read = f"import urllib.request\nprint(urllib.request.urlopen({address!r}, timeout=30).read().decode())"
    told = installed.lab.run(BROKERS[0], [sys.executable, "-c", read], 60)
    assert "\nkappa_registry_up 1.0" in told


@pytest.mark.long(minutes=6)
def test_a_job_is_deployed_and_exact_and_goes_on_on_one_more_worker(
    provisioned: Provisioned, installed: Installed, airflow: LabAirflow
) -> None:
    """By Airflow, as its operator asks for it on the command line."""
    with timed(f"produce {RECORDS:,} records"):
        assert json.loads(installed.ask("produce", "1", str(RECORDS))) == [0, 0]
    with timed("deploy"):
        airflow.kappa("deploy", JOB, *ON_ONE_HOST, "--reason", "test")
    with timed("read"):
        await_read(installed)
    with timed("reconcile"):
        assert json.loads(installed.ask("differences", seconds=PATIENCE_SECONDS)) == []
    assert json.loads(installed.ask("workers")) == [4]
    provisioned.workers = (FIRST, SECOND)
    with timed("one more worker: apply"):
        provisioned.apply()
    with timed("one more worker: there"):
        provisioned.start()
        assert until(lambda: json.loads(installed.ask("workers")) == [4, 4], PATIENCE_SECONDS, 1.0)
    with timed("rescale to two executors"):
        airflow.kappa("rescale", JOB, "--executors", "2", "--reason", "test")
    installed.ask("produce", "2", str(MORE))
    with timed("read"):
        await_read(installed)
    assert json.loads(installed.ask("differences", seconds=PATIENCE_SECONDS)) == []
    disks = installed.lab.folder / "disks"
    newest = max(app.name for host in (FIRST, SECOND) for app in (disks / host / "spark").glob("app-*"))
    assert all((disks / host / "spark" / newest).is_dir() for host in (FIRST, SECOND)), "an executor on each host"


def test_what_sizing_reckons_with_is_what_was_measured(provisioned: Provisioned, installed: Installed) -> None:
    """After the test before, which reads so many records; a broker of three holds a copy of each."""
    disk, records = provisioned.lab.folder / "disks" / BROKERS[0] / "kafka", RECORDS + MORE
    log = sum(file.stat().st_size for file in disk.glob("ad_events-*/*.log")) / records
    checkpoint = provisioned.lab.folder / "shared" / "checkpoints" / JOB
    kept = sum(file.stat().st_size for file in checkpoint.rglob("state/**/*") if file.is_file()) / records
    print(f"{log:.0f} bytes of a record in the log, {kept:.0f} of an event in the checkpoint")
    said = terraform_tree.reckoned()
    assert log <= said["record_bytes"] <= 2 * log
    assert kept <= said["kept_bytes_per_event"] <= 4 * kept


@pytest.mark.long(minutes=4)
def test_state_is_repartitioned_and_settings_are_tried_on_the_cluster(
    installed: Installed, airflow: LabAirflow
) -> None:
    """Not where Airflow's tasks run."""
    with timed("rescale to four partitions"):
        airflow.kappa("rescale", JOB, "--partitions", "4", "--reason", "test")
    with timed("deploy in place"):
        airflow.kappa("deploy", JOB, "--set", "cadence_ms=800", "--reason", "test")
    ran = json.loads(installed.ask("programs"))
    assert [(program, ok) for program, _, ok in ran] == [("repartition", True), ("trial", True)]
    assert all(name.startswith("driver-") for _, name, _ in ran), ran
    installed.ask("produce", "4", str(MORE))
    await_read(installed)
    assert json.loads(installed.ask("differences", seconds=PATIENCE_SECONDS)) == []


@pytest.mark.long(minutes=1)
def test_when_the_leading_master_is_killed_the_other_one_knows_workers_and_drivers(
    provisioned: Provisioned, installed: Installed
) -> None:
    """The driver goes on; it is none that `repair` had to start."""
    began = json.loads(installed.ask("state", JOB))[2]
    leading = json.loads(installed.ask("leader"))
    provisioned.kill(leading, MASTER_UNIT)
    installed.ask("produce", "3", str(MORE))
    with timed("master killed: workers and the driver are known again"):
        assert until(lambda: _known(installed) == [[4, 4], "RUNNING"], PATIENCE_SECONDS, 1.0), _known(installed)
    with timed("read"):
        await_read(installed)
    assert json.loads(installed.ask("state", JOB))[2] == began, "the same driver"
    assert json.loads(installed.ask("leader")) != leading
    assert json.loads(installed.ask("differences", seconds=PATIENCE_SECONDS)) == []


def _known(installed: Installed) -> object:
    """What the master says of its workers and of the driver."""
    return [installed.answer("workers"), installed.answer("driver", JOB)]


def await_read(installed: Installed) -> None:
    def read() -> bool:
        return bool(json.loads(installed.ask("state", JOB))[0] == 0)

    assert until(read, PATIENCE_SECONDS, 1.0), "the log was not read"


def test_two_brokers_are_refused_before_anything_is_written(provisioned: Provisioned) -> None:
    variables = provisioned.variables()
    variables["hosts"].pop(BROKERS[0])
    provisioned.target.set(variables)
    try:
        with pytest.raises(TerraformFailed, match="of which 3 and 5 keep a majority") as told:
            provisioned.target.apply()
        print(told.value)
    finally:
        provisioned.target.set(provisioned.variables())
    assert not provisioned.target.changes()


def test_no_secret_is_in_what_terraform_knows_and_destroy_leaves_secrets_and_the_log(
    provisioned: Provisioned, installed: Installed
) -> None:
    target, secrets = provisioned.target, provisioned.output / "secrets"
    settings = replace(installed.settings, places=replace(installed.settings.places, secrets=str(secrets)))
    assert target.run("plan", "-out=a.tfplan").returncode == 0
    keys = [*(secrets / "tls").glob("*.key"), provisioned.output / "authority" / "ca.key"]
    held = secrets_of(settings, keys=keys)
    told = [file for file in target.folder.rglob("*") if file.is_file()]
    told += [file for file in (provisioned.output / "hosts").rglob("*") if file.is_file()]
    assert target.state in told
    assert found(held, {str(file): file.read_bytes() for file in told}) == []
    with timed("destroy"):
        assert target.run("destroy", "-auto-approve").returncode == 0
    assert list((provisioned.output / "hosts").rglob("*.service")) == []
    assert (secrets / "kafka_admin.properties").exists()
    assert json.loads(installed.ask("state", JOB))[0] == 0
