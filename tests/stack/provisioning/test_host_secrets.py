"""Passwords and certificates are made once, for each host its own, readable by nobody else."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from kappa.core.installation.settings import ROLES, Settings, load
from stack.provisioning import host_secrets
from stack.provisioning.host_secrets import make
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
    make(settings, made, ["k1", "pg"])
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
    make(settings, made, ["k1"])
    before = contents(made)
    make(settings, made, ["k1", "w2"])
    after = contents(made)
    assert {name: text for name, text in after.items() if name in before} == before
    assert set(after) - set(before) == {f"secrets/tls/w2.{kind}" for kind in ("key", "crt", "pem")}
    assert {f"secrets/{role}.pgpass" for role in ROLES} <= set(before)
    assert b"pg:*:*:kappa_owner:" in before["secrets/kappa_owner.pgpass"]


def test_nobody_else_reads_them(settings: Settings, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        make(settings, tmp_path / "out", ["k1"])
    finally:
        os.umask(before)
    modes = {file: file.stat().st_mode & 0o777 for file in (tmp_path / "out").rglob("*") if file.is_file()}
    assert {file: mode for file, mode in modes.items() if mode & 0o077} == {}


def test_a_certificate_that_ends_soon_is_made_anew_by_the_same_authority(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "out"
    monkeypatch.setattr(host_secrets, "HOST_DAYS", 20)
    make(settings, made, ["k1"])
    before = contents(made)
    monkeypatch.setattr(host_secrets, "HOST_DAYS", 398)
    make(settings, made, ["k1"])
    after = contents(made)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {f"secrets/tls/k1.{kind}" for kind in ("key", "crt", "pem")}


@pytest.mark.parametrize("left", ["k1.pem", "k1.crt"])
def test_of_a_host_whose_files_were_made_in_part_all_are_made_anew(
    settings: Settings, tmp_path: Path, left: str
) -> None:
    """Kafka reads k1.pem, which is made last."""
    make(settings, tmp_path, ["k1"])
    tls = tmp_path / "secrets" / "tls"
    (tls / left).unlink()
    make(settings, tmp_path, ["k1"])
    assert (tls / "k1.pem").read_text() == (tls / "k1.key").read_text() + (tls / "k1.crt").read_text()


def test_a_file_for_kafka_with_a_certificate_that_ends_soon_is_made_anew(settings: Settings, tmp_path: Path) -> None:
    """As an interruption leaves it, before it is written with the new certificate."""
    tls = tmp_path / "secrets" / "tls"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(host_secrets, "HOST_DAYS", 20)
        make(settings, tmp_path, ["k1"])
    old = (tls / "k1.pem").read_text()
    make(settings, tmp_path, ["k1"])
    (tls / "k1.pem").write_text(old)
    make(settings, tmp_path, ["k1"])
    assert (tls / "k1.pem").read_text() == (tls / "k1.key").read_text() + (tls / "k1.crt").read_text()


def test_without_openssl_it_is_said(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoCertificate, match=r"the authority was not made: openssl.*Install openssl"):
        make(settings, tmp_path / "out", ["k1"])
    assert json.loads((tmp_path / "out" / "secrets" / "airflow-keys.json").read_text())
