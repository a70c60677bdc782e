"""docker-compose.yml for real: both jobs deployed by Airflow in it, exact numbers, a worker and a broker killed; who
each container is, and what it does not get to see."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import rmtree

import psycopg
import pytest
from confluent_kafka import KafkaError, Producer

from cli.entry import CHECKOUT
from kappa.core.installation.kafka_access import PASSWORD, KafkaUser
from stack.containers import names
from stack.containers.names import Group
from stack.services import kafka as broker
from stack.services import passwords
from stack.waiting import until
from tests.rigs.containers import engine as containers
from tests.rigs.containers.composed import UID, Composed, composed, timed
from tests.rigs.held_secrets import HANDED_DOWN

pytestmark = [pytest.mark.provisioning, pytest.mark.long(minutes=3)]
JOBS = ("ad_ctr", "client_spend")
RECORDS, MORE = 200_000, 5_000
REPLAY_SECONDS = 1_500.0
CACHE = CHECKOUT / ".kappa" / "cache" / "containers"
TOLD, ADDRESS = {"KAPPA_ALERT_TARGETS": "duty"}, "alert_duty.url"
NOWHERE = "jsons://127.0.0.1:9/a-token-of-somebody"


@pytest.fixture(scope="module")
def running() -> Iterator[Composed]:
    """The whole file up, and somebody signed in to its Airflow."""
    if why := containers.missing():
        pytest.skip(why)
    folder = Path(tempfile.mkdtemp(prefix="kappa-composed-"))
    try:
        with containers.engine(CACHE) as engine, composed(engine, folder, TOLD, {ADDRESS: NOWHERE}) as made:
            yield made
    finally:
        rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def deployed(running: Composed) -> Composed:
    """Both jobs, deployed by Airflow, and so many records read."""
    running.deploy(*JOBS)
    running.produce(RECORDS, len(JOBS))
    return running


def test_doctor_finds_every_part_well(running: Composed) -> None:
    found = running.kappa("doctor", "--json")
    assert [one for one in json.loads(found.stdout) if not one["ok"]] == []


def test_the_monitor_serves_what_it_sees_and_status_says_when_it_is_away(running: Composed) -> None:
    with urllib.request.urlopen(f"{running.status()['endpoints']['monitor']}/metrics", timeout=30) as answer:
        page = answer.read().decode()
    assert "\nkappa_registry_up 1.0" in page
    assert f'\nkappa_part_up{{part="{broker.NAME}"}} 1.0' in page
    assert json.loads(running.kappa("alerts", "list", "--json").stdout)["watched"] is True
    running.compose("stop", names.MONITOR)
    assert away(running) == [names.MONITOR]
    running.compose("start", names.MONITOR)
    assert until(lambda: away(running) == [], 120, 2.0)


def away(running: Composed) -> list[str]:
    """The parts that do not answer."""
    return [line["of"] for line in running.status()["red"] if line["line"] == "part"]


def test_the_numbers_are_exact(deployed: Composed) -> None:
    verdict = deployed.kappa("reconcile")
    assert (verdict.returncode, "0 differences" in verdict.stdout) == (0, True), verdict.stdout
    print(deployed.engine.run("podman", "stats", "--no-stream", "--format", "table {{.Name}} {{.MemUsage}}"))


def test_a_job_is_rescaled_stopped_and_started_and_the_numbers_stay_exact(deployed: Composed) -> None:
    more = int(deployed.status()["jobs"][0]["versions"][0]["state_partitions"]) * 2
    for words in (("rescale", JOBS[0], "--partitions", str(more)), ("stop", JOBS[0]), ("start", JOBS[0])):
        with timed(words[0]):
            done = deployed.kappa(*words, "--reason", "test", seconds=500)
        assert done.returncode == 0, done.stderr
    deployed.produce(MORE, len(JOBS))
    assert deployed.status()["jobs"][0]["versions"][0]["state_partitions"] == more
    assert deployed.kappa("reconcile").returncode == 0


def test_a_replay_that_another_person_approves_serves_and_is_rolled_back(deployed: Composed) -> None:
    with ThreadPoolExecutor(1) as beside, timed("replay, approved"):
        words = ("reprocess", *JOBS, "--cores", "1", "--reason", "test")
        replay = beside.submit(deployed.kappa, *words, seconds=REPLAY_SECONDS)
        assert until(lambda: replay.done() or deployed.approve(), REPLAY_SECONDS, 3.0)
        done = replay.result()
    assert done.returncode == 0, done.stdout + done.stderr
    assert deployed.serving() == {job: [2] for job in JOBS}
    assert deployed.kappa("reconcile").returncode == 0
    with timed("rollback"):
        done = deployed.kappa("rollback", *JOBS, "--reason", "test")
    assert done.returncode == 0, done.stderr
    assert deployed.serving() == {job: [1] for job in JOBS}
    deployed.produce(MORE, len(JOBS))
    assert deployed.kappa("reconcile").returncode == 0


def test_repair_brings_back_what_a_stopped_worker_left(deployed: Composed) -> None:
    deployed.compose("stop", names.WORKER)
    deployed.compose("start", names.WORKER)
    with timed("repair"):
        done = deployed.kappa("repair", "--reason", "test")
    assert done.returncode == 0, done.stdout + done.stderr
    deployed.produce(MORE, len(JOBS))
    assert deployed.kappa("reconcile").returncode == 0


def test_a_lost_worker_and_a_lost_broker_cost_no_record(deployed: Composed) -> None:
    deployed.compose("up", "-d", "--no-build", "--pull", "never", "--no-recreate", "--scale", "spark-worker=2")
    for service in (names.WORKER, names.BROKERS[0]):
        deployed.kill(service)
    deployed.await_well()
    deployed.produce(20_000, len(JOBS))
    assert deployed.kappa("reconcile").returncode == 0


def test_after_a_stop_it_goes_on_with_the_password_that_was_made_anew(deployed: Composed) -> None:
    role = "kappa_writer"
    before = passwords.password(deployed.settings, role)
    deployed.compose("stop")
    deployed.settings.passfile(role).unlink()
    deployed.compose("up", "-d", "--no-build", "--pull", "never")
    assert passwords.password(deployed.settings, role) != before
    deployed.await_well()
    deployed.produce(MORE, len(JOBS))
    assert deployed.kappa("reconcile").returncode == 0


def test_nobody_in_a_container_is_root_or_may_become_it(running: Composed) -> None:
    for container in running.engine.run("podman", "ps", "-q").split():
        told = running.inside(
            container, "id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/1/status; touch /x 2>&1 || :"
        )
        assert told.split("\n")[0] == str(UID)
        assert re.search(r"CapEff:\s+0{16}\nCapBnd:\s+0{16}\nNoNewPrivs:\s+1\n", told), told
        assert "Read-only file system" in told


def test_every_port_is_on_the_loopback_only(running: Composed) -> None:
    published = [
        json.loads(running.inspect(container, "{{json .NetworkSettings.Ports}}"))
        for container in running.engine.run("podman", "ps", "-q").split()
    ]
    hosts = {host["HostIp"] for ports in published for bound in ports.values() for host in bound or ()}
    assert hosts == {"127.0.0.1"}


def test_no_secret_is_in_an_image_an_environment_or_a_command_line(deployed: Composed) -> None:
    secrets, ids = deployed.held_secrets(NOWHERE), deployed.engine.run("podman", "ps", "-aq").split()
    for container in ids:
        known = deployed.engine.run("podman", "inspect", container)
        known += deployed.engine.run("podman", "history", "--no-trunc", deployed.inspect(container, "{{.Image}}"))
        assert [name for name, secret in secrets.items() if secret in known] == []
        said = deployed.engine.run("podman", "logs", container)
        assert [name for name, secret in secrets.items() if secret in said] == []
    for container in deployed.engine.run("podman", "ps", "-q").split():
        processes = deployed.inside(
            container,
            f"cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -v {HANDED_DOWN}= || :",
        )
        assert [name for name, secret in secrets.items() if secret in processes] == []


def test_no_secret_is_in_a_file_of_an_image(deployed: Composed, tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    secrets.write_text(
        "".join(f"{line}\n" for each in deployed.held_secrets(NOWHERE).values() for line in each.split())
    )
    images = set(deployed.engine.run("podman", "ps", "-a", "--format", "{{.ImageID}}").split())
    roots = [deployed.engine.run("podman", "image", "mount", image).strip() for image in images]
    with timed(f"{len(images)} images searched"):
        found = subprocess.run(["grep", "-rlaFf", secrets, *roots, secrets], capture_output=True, text=True)
    deployed.engine.run("podman", "image", "unmount", "--all")
    assert found.stdout.split() == [str(secrets)], "of all files only the list itself has them"


def test_a_container_is_given_no_secret_of_another_group(running: Composed) -> None:
    (worker,) = running.containers(names.WORKER)[:1]
    there = running.inside(worker, f"ls {names.GIVEN}").split()
    assert "kappa_owner.pgpass" not in there
    assert "kappa_writer.pgpass" in there
    assert running.inside(worker, "ls /given /host 2>&1 || :").count("No such file") == 2
    assert Group.WORKER in running.inspect(worker, "{{json .Mounts}}")


def test_who_may_only_read_the_log_writes_nothing_nor_does_who_has_a_wrong_password(running: Composed) -> None:
    reader, admin = (running.settings.kafka_access(user).librdkafka() for user in (KafkaUser.READER, KafkaUser.ADMIN))
    wrong = {**admin, PASSWORD: "a-wrong-one"}
    for given, refused in ((reader, "TOPIC_AUTHORIZATION_FAILED"), (wrong, "_MSG_TIMED_OUT")):
        failed: list[KafkaError] = []
        producer = Producer({**given, "message.timeout.ms": 10_000, "log_level": 0})
        producer.produce(
            running.settings.topic.name, b"x", on_delivery=lambda error, _, told=failed: error and told.append(error)
        )
        producer.flush(30)
        assert [error.name() for error in failed] == [refused]
        print(f"Kafka: {failed[0].str()}")


@pytest.mark.parametrize(
    ("changed", "to", "said"),
    [
        ("sslmode=verify-full", "sslmode=disable", "no encryption"),
        ("kappa_reader.pgpass", "none.pgpass", "no password supplied"),
    ],
)
def test_who_speaks_plainly_to_postgres_or_has_no_password_is_not_let_in(
    running: Composed, changed: str, to: str, said: str
) -> None:
    with pytest.raises(psycopg.OperationalError, match=said) as refused:
        psycopg.connect(running.settings.dsn("kappa_reader").replace(changed, to), connect_timeout=10)
    print(f"Postgres: {str(refused.value).splitlines()[0]}")


def test_who_signs_nothing_and_has_no_token_is_not_let_in(running: Composed) -> None:
    settings = running.settings
    doors = {
        "Spark, a submission": (f"{settings.spark_rest[0]}/v1/submissions/create", b"{}"),
        "Spark, a page": (f"{settings.spark_ui[0]}/", None),
        "Airflow": (f"{settings.airflow_url}/api/v2/dags", None),
        "the console": (f"{settings.airflow_url}/kappa/console/data/now", None),
    }
    for door, (address, body) in doors.items():
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(address, data=body), timeout=30)
        print(f"{door}: {refused.value.code} {refused.value.read(150).decode()!r}")
        assert refused.value.code in (401, 403)
