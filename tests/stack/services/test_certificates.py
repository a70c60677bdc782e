"""Certificates of one's own authority: what they vouch for, by a real handshake."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stack.services import certificates


def handshake(folder: Path, authority: Path, host: str) -> None:
    """Say hello over TLS, as a client that knows the authority and wants this host. Raises SSLError."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "kafka.both.pem")
    client = ssl.create_default_context(cafile=str(authority))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    here, there = socket.socketpair()

    def serve() -> None:
        with suppress(OSError), server.wrap_socket(there, server_side=True) as wire:
            wire.recv(1)

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    try:
        with client.wrap_socket(here, server_hostname=host):
            pass
    finally:
        here.close()
        serving.join(10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tls")
    certificates.ensure(made, "kafka", ["kafka-1", "127.0.0.1"])
    return made


@pytest.mark.parametrize("host", ["kafka-1", "127.0.0.1"])
def test_a_host_is_vouched_for_by_name_and_by_address(folder: Path, host: str) -> None:
    handshake(folder, folder / "ca.pem", host)


def test_another_host_is_not(folder: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="kafka-2"):
        handshake(folder, folder / "ca.pem", "kafka-2")


def test_nor_is_one_of_another_authority(folder: Path, tmp_path: Path) -> None:
    certificates.ensure(tmp_path, "kafka", ["kafka-1"])
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(folder, tmp_path / "ca.pem", "kafka-1")


def test_who_trusts_two_authorities_takes_certificates_of_both(folder: Path, tmp_path: Path) -> None:
    """While one follows the other. Some keep authorities by their names, so no two have the same."""
    certificates.ensure(tmp_path / "next", "kafka", ["kafka-1"])
    both = tmp_path / "ca.pem"
    both.write_text((tmp_path / "next" / "ca.pem").read_text() + (folder / "ca.pem").read_text())
    handshake(folder, both, "kafka-1")
    handshake(tmp_path / "next", both, "kafka-1")
    names = {subject(made / "ca.pem") for made in (folder, tmp_path / "next")}
    assert len(names) == 2
    assert all("kappa authority" in name for name in names)


def subject(certificate: Path) -> str:
    command = ["openssl", "x509", "-noout", "-subject", "-in", str(certificate)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_what_is_there_stays_and_keys_are_of_their_owner_only(folder: Path) -> None:
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    certificates.ensure(folder, "kafka", ["kafka-9"])
    certificates.ensure(folder, "postgres", ["postgres"])
    after = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert before.items() <= after.items()
    private = [file for file in folder.iterdir() if "PRIVATE" in file.read_text()]
    assert {file.name for file in private} == {
        f"{name}" for name in ("ca.key", "kafka.key", "kafka.both.pem", "postgres.key", "postgres.both.pem")
    }
    assert all(file.stat().st_mode & 0o077 == 0 for file in private)


def test_without_its_files_of_certificates_all_is_made_anew_and_nothing_else(tmp_path: Path) -> None:
    """What a person deletes when they end; `postgres.pgpass` and the like lie beside them."""
    (tmp_path / "postgres.pgpass").write_text("word")
    names = ("kafka", "postgres")
    for name in names:
        certificates.ensure(tmp_path, name, ["kafka-1"])
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for file in tmp_path.glob("*.pem"):
        file.unlink()
    for name in names:
        certificates.ensure(tmp_path, name, ["kafka-1"])
    after = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert after.keys() == before.keys()
    assert {name for name in after if after[name] == before[name]} == {"postgres.pgpass"}
    handshake(tmp_path, tmp_path / "ca.pem", "kafka-1")


def test_without_openssl_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(certificates.NoCertificate, match="Install"):
        certificates.ensure(tmp_path, "kafka", ["kafka-1"])


def test_a_file_lasts_as_long_as_the_certificate_in_it_that_lasts_longest(folder: Path, tmp_path: Path) -> None:
    certificates.ensure(tmp_path, "kafka", ["kafka-1"], days=5)
    short, long = tmp_path / "kafka.pem", folder / "kafka.pem"
    for file, days in ((short, 5), (tmp_path / "ca.pem", 5), (long, certificates.DAYS)):
        assert abs(certificates.ends(file) - datetime.now(UTC) - timedelta(days)) < timedelta(hours=1)
    both = tmp_path / "both"
    both.write_text(f"an older one\n{short.read_text()}a newer one\n{long.read_text()}{short.read_text()}")
    assert certificates.ends(both) == certificates.ends(long)


@pytest.mark.parametrize("text", ["", "-----BEGIN CERTIFICATE-----\nTUlJ\n-----END CERTIFICATE-----\n"])
def test_a_file_without_a_certificate_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(text)
    with pytest.raises(certificates.NoEnd, match=rf"^{tmp_path}/ca\.pem "):
        certificates.ends(tmp_path / "ca.pem")


def test_without_openssl_no_end_is_known(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(certificates.NoEnd, match="Install openssl"):
        certificates.ends(folder / "ca.pem")
