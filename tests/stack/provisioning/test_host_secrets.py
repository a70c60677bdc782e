"""Passwords and certificates are made once, readable by nobody else, and each host is given those of its roles."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cli import sign_in
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import ROLES, Settings, load
from stack.provisioning import host_secrets
from stack.provisioning.host_secrets import make
from stack.provisioning.role_secrets import UnknownRole
from stack.services.certificates import NoCertificate

SETTINGS = """
[kafka]
bootstrap = "k1:9092"
ca = "/etc/kappa/secrets/ca.pem"
[postgres]
host = "pg"
[spark]
master = "spark://m1:7077"
rest = ["https://m1:6066"]
ui = ["https://m1:8080"]
[airflow]
url = "https://airflow"
[places]
shared = "/mnt/kappa"
secrets = "/etc/kappa/secrets"
"""

BROKER = ["k1=broker"]
HOSTS = [
    *BROKER,
    "pg=postgres",
    "z1=zookeeper",
    "m1=spark_master",
    "w1=spark_worker",
    "a1=airflow,monitor",
    "cl=client",
]
OF_ALL = {"ca.pem", "host"}
OF_WORKER = {"spark-auth.properties", "kafka_stream.properties", "kappa_writer.pgpass"}
OF_POSTGRES = {f"{role}.pgpass" for role in ROLES}
CERTIFICATES = {f"tls/{word.partition('=')[0]}.crt" for word in HOSTS}
"""Of all hosts, whose ends doctor looks at; they are no secrets."""
GIVEN = {
    "k1": {"tls/k1.pem", "tls/k1.crt", "kafka_admin.properties"},
    "pg": {"tls/pg.key", "tls/pg.crt", "postgres.pgpass"},
    "z1": {"tls/z1.pem", "tls/z1.crt"},
    "m1": {"tls/m1.pem", "tls/m1.crt", "spark-master.properties"},
    "w1": OF_WORKER | {"spark-worker.properties"},
    "a1": OF_WORKER | OF_POSTGRES | CERTIFICATES | {
        "tls/a1.key", "airflow-users.json", "airflow.pgpass", "spark-rest.key",
        "kafka_control.properties",
    },
    "cl": OF_POSTGRES | CERTIFICATES | {
        "postgres.pgpass", "airflow.pgpass", "spark-rest.key", *(f"{user}.properties" for user in KafkaUser),
    },
}  # fmt: skip


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "kappa.toml").write_text(SETTINGS)
    return load(tmp_path / "state", {"KAPPA_SETTINGS": str(tmp_path / "kappa.toml")})


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def said(*command: str) -> str:
    return subprocess.run(["openssl", *command], capture_output=True, text=True, check=True).stdout


def test_each_host_has_a_certificate_of_its_name_that_the_authority_vouches_for(
    settings: Settings, tmp_path: Path
) -> None:
    made = tmp_path / "out"
    make(settings, made, ["k1=broker", "pg=postgres"])
    ca = str(made / "secrets" / "ca.pem")
    for host in ("k1", "pg"):
        crt = str(made / "secrets" / "tls" / f"{host}.crt")
        assert said("verify", "-CAfile", ca, "-verify_hostname", host, crt) == f"{crt}: OK\n"
        assert "BEGIN PRIVATE KEY" in (made / "secrets" / "tls" / f"{host}.pem").read_text(), "Kafka takes PKCS#8 only"
    with pytest.raises(subprocess.CalledProcessError):
        said("verify", "-CAfile", ca, "-verify_hostname", "m1", str(made / "secrets" / "tls" / "k1.crt"))
    assert not (made / "secrets" / "ca.key").exists()


def test_what_is_there_stays_and_another_host_adds_its_own(settings: Settings, tmp_path: Path) -> None:
    made = tmp_path / "out"
    make(settings, made, BROKER)
    before = contents(made)
    make(settings, made, [*BROKER, "w2"])
    after = contents(made)
    assert {name: text for name, text in after.items() if name in before} == before
    made_anew = {f"secrets/tls/w2.{kind}" for kind in ("key", "crt", "pem")}
    assert set(after) - set(before) == made_anew | {"given/w2/ca.pem", "given/w2/host"}
    assert {f"secrets/{role}.pgpass" for role in ROLES} <= set(before)
    assert b"pg:*:*:kappa_owner:" in before["secrets/kappa_owner.pgpass"]


def test_each_host_is_given_what_its_roles_need_and_nothing_else(settings: Settings, tmp_path: Path) -> None:
    make(settings, tmp_path, HOSTS)
    held = contents(tmp_path / "secrets")
    given = {host: contents(tmp_path / "given" / host) for host in GIVEN}
    assert {host: set(files) for host, files in given.items()} == {host: OF_ALL | GIVEN[host] for host in GIVEN}
    for files in given.values():
        assert files.pop("host").decode().strip() in HOSTS
        assert files == {name: held[name] for name in files}, "the same on every host that has it"
    nowhere = held.keys() - {name for files in given.values() for name in files}
    assert {name for name in nowhere if not name.startswith("tls/")} == {"airflow-keys.json"}


def test_what_a_host_has_no_use_for_any_more_is_taken_out_of_its_folder(settings: Settings, tmp_path: Path) -> None:
    make(settings, tmp_path, HOSTS)
    make(settings, tmp_path, ["a1=monitor"])
    assert {folder.name for folder in (tmp_path / "given").iterdir()} == {"a1"}
    assert set(contents(tmp_path / "given" / "a1")) == OF_ALL | {"kafka_control.properties", "kappa_operator.pgpass"}
    assert (tmp_path / "secrets" / "spark-rest.key").exists(), "what was made stays"


def test_who_signed_in_from_a_host_stays_signed_in(settings: Settings, tmp_path: Path) -> None:
    """Where the folder itself is a host's, as on one machine, people's tokens come to lie in it."""
    make(settings, tmp_path, HOSTS)
    token = tmp_path / "given" / "a1" / sign_in.file(settings).name
    token.write_text("{}")
    make(settings, tmp_path, HOSTS)
    assert token.exists()


def test_a_new_secret_reaches_each_host_that_has_the_old_one(settings: Settings, tmp_path: Path) -> None:
    make(settings, tmp_path, HOSTS)
    (tmp_path / "secrets" / "kappa_writer.pgpass").unlink()
    make(settings, tmp_path, HOSTS)
    made = (tmp_path / "secrets" / "kappa_writer.pgpass").read_bytes()
    given = [file.read_bytes() for file in (tmp_path / "given").rglob("kappa_writer.pgpass")]
    assert given == [made] * 3


def test_the_monitor_is_given_the_addresses_of_those_whom_it_tells(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir(mode=0o700)
    (tmp_path / "secrets" / "alert_duty.url").write_text("jsons://hooks.example.com/kappa")
    told = replace(settings, alerts=replace(settings.alerts, targets=("duty", "chat")))
    make(told, tmp_path, HOSTS)
    assert [file.parent.name for file in (tmp_path / "given").rglob("alert_*")] == ["a1"], "one has an address so far"


def test_a_role_that_there_is_not_is_refused_before_any_secret_is_made(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(UnknownRole, match=r"w1 has the role spark_wroker.*spark_worker, airflow.*Nothing was made"):
        make(settings, tmp_path / "out", ["w1=spark_wroker"])
    assert not (tmp_path / "out").exists()


def test_nobody_else_reads_them(settings: Settings, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        make(settings, tmp_path / "out", HOSTS)
    finally:
        os.umask(before)
    modes = {file: file.stat().st_mode & 0o777 for file in (tmp_path / "out").rglob("*")}
    assert {file: mode for file, mode in modes.items() if mode & 0o077} == {}


def test_a_certificate_that_ends_soon_is_made_anew_by_the_same_authority(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "out"
    monkeypatch.setattr(host_secrets, "HOST_DAYS", 20)
    make(settings, made, BROKER)
    before = contents(made)
    monkeypatch.setattr(host_secrets, "HOST_DAYS", 398)
    make(settings, made, BROKER)
    after = contents(made)
    changed = {name for name in after if after[name] != before.get(name)}
    made_anew = {f"secrets/tls/k1.{kind}" for kind in ("key", "crt", "pem")}
    assert changed == made_anew | {f"given/k1/tls/k1.{kind}" for kind in ("crt", "pem")}


@pytest.mark.parametrize("left", ["k1.pem", "k1.crt"])
def test_of_a_host_whose_files_were_made_in_part_all_are_made_anew(
    settings: Settings, tmp_path: Path, left: str
) -> None:
    """Kafka reads k1.pem, which is made last."""
    make(settings, tmp_path, BROKER)
    tls = tmp_path / "secrets" / "tls"
    (tls / left).unlink()
    make(settings, tmp_path, BROKER)
    assert (tls / "k1.pem").read_text() == (tls / "k1.key").read_text() + (tls / "k1.crt").read_text()


def test_a_file_for_kafka_with_a_certificate_that_ends_soon_is_made_anew(settings: Settings, tmp_path: Path) -> None:
    """As an interruption leaves it, before it is written with the new certificate."""
    tls = tmp_path / "secrets" / "tls"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(host_secrets, "HOST_DAYS", 20)
        make(settings, tmp_path, BROKER)
    old = (tls / "k1.pem").read_text()
    make(settings, tmp_path, BROKER)
    (tls / "k1.pem").write_text(old)
    make(settings, tmp_path, BROKER)
    assert (tls / "k1.pem").read_text() == (tls / "k1.key").read_text() + (tls / "k1.crt").read_text()


def test_without_openssl_it_is_said(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoCertificate, match=r"the authority was not made: openssl.*Install openssl"):
        make(settings, tmp_path / "out", BROKER)
    assert json.loads((tmp_path / "out" / "secrets" / "airflow-keys.json").read_text())
