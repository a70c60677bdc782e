"""`targets/cluster` applied for real on no host: what each would get, and that its units are such as systemd takes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from stack.provisioning import providers
from stack.provisioning.terraform import Target
from tests.stack.provisioning import terraform_tree

SECRETS = "/etc/kappa/secrets"
PROGRAM = "/bin/true"
"""In the place of programs that this machine may not have, for systemd looks whether they are there."""
HOSTS: Mapping[str, Mapping[str, object]] = {
    "k1": {"roles": ["broker"], "broker_id": 1},
    "pg": {"roles": ["postgres"]},
    "z1": {"roles": ["zookeeper"], "zookeeper_id": 1},
    "m1": {"roles": ["spark_master"]},
    "m2": {"roles": ["spark_master"]},
    "w1": {"roles": ["spark_worker"]},
    "a1": {"roles": ["airflow", "monitor"]},
    "cl": {"roles": ["client"]},
}
OF_DRIVERS = {"spark-auth.properties", "kafka_stream.properties", "kappa_writer.pgpass"}
CERTIFICATES = {f"tls/{host}.crt" for host in HOSTS}
OF_POSTGRES = {f"kappa_{role}.pgpass" for role in ("owner", "writer", "registry", "operator", "reader")}
GIVEN = {
    "k1": {"tls/k1.pem", "tls/k1.crt", "kafka_admin.properties"},
    "pg": {"tls/pg.key", "tls/pg.crt", "postgres.pgpass"},
    "z1": {"tls/z1.pem", "tls/z1.crt"},
    "m1": {"tls/m1.pem", "tls/m1.crt", "spark-master.properties"},
    "m2": {"tls/m2.pem", "tls/m2.crt", "spark-master.properties"},
    "w1": OF_DRIVERS | {"spark-worker.properties"},
    "a1": OF_DRIVERS | OF_POSTGRES | CERTIFICATES | {
        "tls/a1.key", "airflow-users.json", "airflow.pgpass", "spark-rest.key",
        "kafka_control.properties",
    },
    "cl": OF_POSTGRES | CERTIFICATES | {
        "postgres.pgpass", "airflow.pgpass", "spark-rest.key", "kafka_admin.properties", "kafka_control.properties",
        "kafka_producer.properties", "kafka_reader.properties", "kafka_stream.properties",
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def rendered() -> Iterator[Path]:
    """The folder that an apply has written."""
    terraform_tree.needed("targets/cluster")
    folder = Path(tempfile.mkdtemp(prefix="kappa-hosts-"))
    try:
        mirrors = list(providers.mirrors(CHECKOUT, os.environ).values())
        target = Target("cluster", CHECKOUT, folder / "terraform", mirrors, dict(os.environ))
        (folder / "pg" / "bin").mkdir(parents=True)
        (folder / "pg" / "bin" / "postgres").symlink_to(PROGRAM)
        target.prepare(
            {
                "programs": {"java": PROGRAM, "command": PROGRAM, "postgres": str(folder / "pg")},
                "places": {"config": str(folder / "made" / "hosts" / "pg"), "secrets": SECRETS},
                "hosts": HOSTS, "trusted_network": True, "airflow_url": "https://a1:8443",
                "airflow_ca": f"{SECRETS}/ca.pem", "output": str(folder / "made"),
                "maker": {"checkout": str(CHECKOUT), "python": sys.executable},
            }
        )  # fmt: skip
        target.apply()
        yield folder / "made"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.timeout(600)
def test_each_host_is_given_the_secrets_of_its_roles_and_no_others(rendered: Path) -> None:
    given = {host: files(rendered / "given" / host) for host in HOSTS}
    assert given == {host: GIVEN[host] | {"ca.pem", "host"} for host in HOSTS}


@pytest.mark.timeout(600)
def test_each_secret_that_a_host_s_files_name_is_given_to_it(rendered: Path) -> None:
    for host in HOSTS:
        texts = {file.name: file.read_text() for file in (rendered / "hosts" / host).iterdir()}
        named = {name for text in texts.values() for name in re.findall(rf"{SECRETS}/([\w./-]*\w)", text)}
        assert named <= files(rendered / "given" / host), host
        assert "ca.pem" in named


@pytest.mark.timeout(600)
@pytest.mark.parametrize("host", [host for host in HOSTS if host != "cl"])
def test_systemd_takes_each_unit_as_it_is_written(rendered: Path, host: str) -> None:
    (unit,) = (rendered / "hosts" / host).glob("*.service")
    done = verify(unit)
    assert (done.returncode, done.stdout) == (0, ""), unit.read_text()


@pytest.mark.timeout(600)
def test_systemd_tells_of_what_it_does_not_take(rendered: Path, tmp_path: Path) -> None:
    text = (rendered / "hosts" / "k1" / "kappa-kafka.service").read_text()
    wrong = tmp_path / "kappa-wrong.service"
    wrong.write_text(text.replace("KillMode=control-group", "KillMode=all-of-it").replace("User=", "Usr="))
    said = verify(wrong).stdout
    assert "all-of-it" in said
    assert "Usr" in said


def verify(unit: Path) -> subprocess.CompletedProcess[str]:
    """What systemd says of a unit file; skips the test where it is not there."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no 'systemd-analyze' on the PATH (package systemd): no unit was held against what systemd takes")
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(unit)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def files(folder: Path) -> set[str]:
    """By paths below a folder."""
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
