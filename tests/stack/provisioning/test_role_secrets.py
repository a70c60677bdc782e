"""A host has the files that the programs of its roles read: those that their rendered files and their code name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import load
from stack.provisioning import role_secrets
from stack.provisioning.role_secrets import CA, GIVEN, Host, HostRole
from tests.stack.provisioning.terraform_tree import TREE

MODULE = TREE / "modules" / "installation"
TEMPLATES = {
    HostRole.BROKER: "server.properties.tftpl",
    HostRole.POSTGRES: "prepare-postgres.tftpl",
    HostRole.ZOOKEEPER: "zookeeper.cfg.tftpl",
}
KEPT_IN_ONE_FILE = {HostRole.BROKER, HostRole.ZOOKEEPER}
"""They read key and certificate from one file; the certificate alone is for doctor."""
UNITS = {HostRole.SPARK_MASTER: "kappa-spark-master", HostRole.SPARK_WORKER: "kappa-spark-worker"}


@pytest.mark.parametrize("role", TEMPLATES)
def test_a_role_has_the_files_that_its_rendered_files_name(role: HostRole) -> None:
    text = (MODULE / "templates" / TEMPLATES[role]).read_text()
    named = set(re.findall(r"\$\{secrets\}/([\w./${}-]+?)[:'\n]", text)) - {CA}
    without_check = {name for name in GIVEN[role] if role not in KEPT_IN_ONE_FILE or name != role_secrets.CERTIFICATE}
    assert {name.replace("${host}", "{host}") for name in named} == without_check


@pytest.mark.parametrize("role", UNITS)
def test_a_role_has_the_files_that_its_unit_names(role: HostRole) -> None:
    units = (MODULE / "locals.tf").read_text().split(f'"{UNITS[role]}"')[1].split("name ")[0]
    (named,) = re.findall(r"\$\{var\.places\.secrets\}/([\w.-]+)", units)
    assert named in GIVEN[role]
    if role is HostRole.SPARK_MASTER:
        assert GIVEN[role] == (role_secrets.KEY_AND_CERTIFICATE, role_secrets.CERTIFICATE, named)


def test_a_worker_has_the_users_and_roles_that_drivers_and_executors_go_by() -> None:
    assert asked("jobs") == {"kafka_stream.properties", "kappa_writer.pgpass"}
    own = {"spark-auth.properties", "spark-worker.properties"}
    assert asked("jobs") | own == set(GIVEN[HostRole.SPARK_WORKER])


def test_the_monitor_only_looks() -> None:
    assert asked("stack/monitor", "stack/alerts") == {"kappa_operator.pgpass"}
    assert asked("stack/monitor", "stack/alerts") | {"kafka_control.properties"} == set(GIVEN[HostRole.MONITOR])


def test_only_who_makes_users_and_the_brokers_have_the_administrators_password() -> None:
    having = {
        name: {role for role in HostRole if name in GIVEN[role]}
        for name in ("kafka_admin.properties", "postgres.pgpass")
    }
    assert having == {
        "kafka_admin.properties": {HostRole.BROKER, HostRole.CLIENT},
        "postgres.pgpass": {HostRole.POSTGRES, HostRole.CLIENT},
    }


def test_the_roles_are_those_of_terraform() -> None:
    listed = re.search(r"roles += (\[.*\])\n", (MODULE / "locals.tf").read_text())
    assert listed is not None
    assert re.findall(r'"(\w+)"', listed[1]) == list(HostRole)


def test_a_folder_of_all_secrets_is_of_no_host(tmp_path: Path) -> None:
    assert role_secrets.of(tmp_path) is None
    (tmp_path / "host").write_text("a1=airflow,monitor\n")
    found = role_secrets.of(tmp_path)
    assert found == Host("a1", (HostRole.AIRFLOW, HostRole.MONITOR))
    assert str(found) == "a1=airflow,monitor"
    assert role_secrets.read("kafka.internal") == Host("kafka.internal", ())


def test_a_host_of_two_roles_has_what_both_need(tmp_path: Path) -> None:
    settings = load(tmp_path, {"KAPPA__ALERTS__TARGETS": '["duty"]'})
    assert role_secrets.files(settings, role_secrets.read("a1=broker,monitor")) == {
        CA, "tls/a1.pem", "tls/a1.crt", "kafka_admin.properties", "kafka_control.properties", "kappa_operator.pgpass",
        "alert_duty.url",
    }  # fmt: skip


def asked(*folders: str) -> set[str]:
    """The secrets that code asks for: users of Kafka and roles of Postgres."""
    texts = [file.read_text() for folder in folders for file in (CHECKOUT / folder).rglob("*.py")]
    users = {KafkaUser[name] for text in texts for name in re.findall(r"kafka_access\(KafkaUser\.(\w+)\)", text)}
    roles = {
        role for text in texts for role in re.findall(r'"(kappa_(?:owner|writer|registry|operator|reader))"', text)
    }
    return {f"{user}.properties" for user in users} | {f"{role}.pgpass" for role in roles}
