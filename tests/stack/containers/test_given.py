"""What each group of containers is given: all that its start needs, and no secret of another."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.needs import NOTES_CONNECTION, POOLS, SPARK_CONNECTION
from kappa.core.installation.settings import load
from stack.alerts.memory import MemoryFile
from stack.alerts.targets import NoAddress
from stack.containers import brokers, given, installation, names, prepare
from stack.containers.names import Chosen, Group
from stack.services import passwords

CHOICE = Chosen(brokers=3)
SCRIPTS = {
    Group.BROKER: "docker/kafka.sh",
    Group.POSTGRES: "docker/postgres.sh",
    Group.MASTER: "docker/spark.sh",
    Group.AIRFLOW: "docker-compose.yml",
}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the checkout and the volumes of the groups, after the job `secrets`."""
    folder = tmp_path_factory.mktemp("target")
    made(folder)
    prepare.make_secrets(folder, folder / "given", CHOICE)
    return folder


def made(folder: Path) -> None:
    """The folders that the job `secrets` finds."""
    for name in ("secrets", "shared", "state/alerts", *(f"given/{group}" for group in Group)):
        (folder / name).mkdir(parents=True)


def seen(target: Path, group: Group) -> dict[str, str]:
    """The files of a group."""
    return {file.name: file.read_text() for file in (target / "given" / group).iterdir()}


@pytest.mark.parametrize("group", SCRIPTS)
def test_every_file_that_a_start_names_is_given(target: Path, group: Group) -> None:
    named = set(re.findall(rf"{names.GIVEN}/([\w.-]+)", (CHECKOUT / SCRIPTS[group]).read_text()))
    named = {name.replace("server-", "server-1.properties") if name == "server-" else name for name in named}
    if group is Group.MASTER:
        assert named == {"spark-master.properties", "spark-worker.properties"}
        assert "spark-worker.properties" in seen(target, Group.WORKER)
        named -= {"spark-worker.properties"}
    assert named
    assert named <= set(seen(target, group))


def test_a_broker_finds_each_file_that_its_configuration_names(target: Path) -> None:
    files = seen(target, Group.BROKER)
    for number in (1, 2, 3):
        text = files[f"server-{number}.properties"]
        assert set(re.findall(rf"{names.GIVEN}/([\w.-]+)", text)) <= set(files)
    assert "node.id=3" in files["server-3.properties"]
    assert "HOST://localhost:29094" in files["server-3.properties"]
    assert "PLAINTEXT" not in "".join(files.values())


def test_every_listener_asks_who_is_there_over_tls(target: Path) -> None:
    held = dict(line.split("=", 1) for line in seen(target, Group.BROKER)["server-1.properties"].splitlines())
    listeners = [listener.split(":")[0] for listener in held["listeners"].split(",")]
    assert held["listener.security.protocol.map"] == ",".join(f"{listener}:SASL_SSL" for listener in listeners)
    assert all(held[f"listener.name.{listener.lower()}.sasl.enabled.mechanisms"] for listener in listeners)
    assert held["listener.name.host.sasl.enabled.mechanisms"] == "SCRAM-SHA-512,PLAIN", "Terraform's, too"
    assert all(held[f"listener.name.host.{kind}.sasl.jaas.config"] for kind in ("scram-sha-512", "plain"))


def test_airflow_finds_each_file_that_its_configuration_names(target: Path) -> None:
    files = seen(target, Group.AIRFLOW)
    config = configparser.RawConfigParser()
    config.read_string(files["airflow.cfg"])
    assert set(re.findall(rf"{names.GIVEN}/([\w.-]+)", files["airflow.cfg"])) <= set(files)
    assert config["database"]["sql_alchemy_conn"].endswith("&sslmode=verify-full&sslrootcert=/run/kappa/ca.pem")
    assert config["database"]["sql_alchemy_conn_async"].endswith("&ssl=verify-full")
    assert config["core"]["execution_api_server_url"] == "http://airflow-api:8080/execution/"
    assert config["api"]["base_url"] == "http://127.0.0.1:28090"
    assert set(json.loads(files["connections.json"])) == {SPARK_CONNECTION, NOTES_CONNECTION}
    assert set(json.loads(files["pools.json"])) == {pool.name for pool in POOLS}


def test_no_group_sees_a_secret_that_it_has_no_use_for(target: Path) -> None:
    held = (target / "secrets").iterdir()
    private = {file.name for file in held if file.name not in {"ca.pem", "ca.srl", "kafka.pem", "postgres.pem"}}
    assert {name for name in private if all(name not in seen(target, group) for group in Group)} == {
        "ca.key", "kafka.key", "postgres.both.pem", "airflow-keys.json",
    }  # fmt: skip
    worker = private & set(seen(target, Group.WORKER))
    assert worker == {
        "spark-worker.properties", "spark-auth.properties", "kafka_stream.properties", "kappa_writer.pgpass",
    }  # fmt: skip
    assert (target / "secrets" / "spark-rest.key").read_text() not in "".join(seen(target, Group.WORKER).values())
    assert not private & set(seen(target, Group.MASTER)) - {"spark-master.properties"}
    assert private & set(seen(target, Group.MONITOR)) == {"kafka_control.properties", "kappa_operator.pgpass"}


def test_files_are_of_their_owner_only_and_name_the_server_that_a_password_goes_to(target: Path) -> None:
    for group in Group:
        for file in (target / "given" / group).iterdir():
            assert file.stat().st_mode & 0o077 == 0
            if file.suffix == ".pgpass":
                assert file.read_text().startswith("postgres:*:*:")


def test_the_containers_and_this_machine_have_the_same_secrets(target: Path) -> None:
    settings = load(target / "state", {})
    assert settings.secrets == target / "secrets"
    for role in ("kappa_writer", "kappa_registry"):
        assert passwords.password(settings, role) in seen(target, Group.STORES)[f"{role}.pgpass"]
    user = settings.kafka_access(KafkaUser.STREAM)
    assert user.file.read_text() == seen(target, Group.WORKER)["kafka_stream.properties"]


def test_made_again_everything_stays_and_what_is_not_given_any_more_goes(target: Path) -> None:
    before = {group: seen(target, group) for group in Group}
    (target / "given" / Group.WORKER / "kappa_owner.pgpass").write_text("left over")
    prepare.make_secrets(target, target / "given", CHOICE)
    assert {group: seen(target, group) for group in Group} == before


def test_the_monitor_is_given_the_addresses_of_those_whom_it_tells_and_nobody_else_is(tmp_path: Path) -> None:
    made(tmp_path)
    address = tmp_path / "secrets" / "alert_duty.url"
    address.write_text("jsons://hooks.example.com/kappa")
    address.chmod(0o600)
    choice = Chosen(alert_targets=("duty",), alert_quiet="22:00-07:00", alert_time_zone="Europe/Berlin")
    prepare.make_secrets(tmp_path, tmp_path / "given", choice)
    assert [group for group in Group if address.name in seen(tmp_path, group)] == [Group.MONITOR]
    assert MemoryFile(tmp_path / "state").lock.exists(), "or whoever looks first would own it"
    for alerts in (prepare.inside(choice).alerts, load(tmp_path / "state", {}).alerts):
        assert (alerts.targets, alerts.quiet, alerts.time_zone) == (("duty",), "22:00-07:00", "Europe/Berlin")


def test_who_is_to_be_told_without_an_address_is_refused_before_any_secret_is_made(tmp_path: Path) -> None:
    made(tmp_path)
    with pytest.raises(NoAddress, match=r"alert_duty\.url"):
        prepare.make_secrets(tmp_path, tmp_path / "given", Chosen(alert_targets=("duty",)))
    assert list((tmp_path / "secrets").iterdir()) == []


def test_a_folder_of_somebody_else_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secrets").mkdir()
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(prepare.NotOurs, match="KAPPA_UID"):
        prepare.make_secrets(tmp_path, tmp_path / "given", CHOICE)
    assert not (tmp_path / "kappa.toml").exists()


def test_the_settings_of_the_containers_are_those_of_their_file() -> None:
    told = tomllib.loads(installation.text(installation.inside(CHOICE), CHOICE))
    settings = prepare.inside(CHOICE)
    assert settings.kafka.bootstrap == told["kafka"]["bootstrap"]
    assert (settings.secrets, settings.shared) == (names.GIVEN, names.SHARED)


def test_three_brokers_keep_each_record_twice_before_it_is_acknowledged() -> None:
    text = brokers.properties(prepare.inside(CHOICE), CHOICE, 1)
    assert "min.insync.replicas=2\n" in text
    assert "min.insync.replicas=1\n" in brokers.properties(prepare.inside(Chosen()), Chosen(), 1)
    assert given.CLUSTER_ID in given.SECRETS[Group.BROKER]
