"""Certificates of an authority of one's own, made by openssl: for parts that are reached over TLS on a private
network."""

from __future__ import annotations

import ipaddress
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kappa.core.refusals import Refusal

DAYS = 825
_AUTHORITY = "basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"
_EXTENSIONS = """\
subjectAltName={names}
basicConstraints=CA:FALSE
subjectKeyIdentifier=hash
authorityKeyIdentifier=keyid
"""


class NoCertificate(Refusal):
    """openssl made no certificate."""

    def __init__(self, said: str) -> None:
        super().__init__(f"openssl made no certificate: {said}. Install it, and make room in the folder of secrets.")


def ensure(folder: Path, name: str, hosts: Sequence[str], days: int = DAYS) -> None:
    """An authority (`ca.key`, `ca.pem`) and by it a key and a certificate for these hosts (`NAME.key`, `NAME.pem`, both
    in `NAME.both.pem`); what is there stays. Raises NoCertificate."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not (folder / "ca.pem").exists():
        _authority(folder, days)
    if not (folder / f"{name}.both.pem").exists():
        _issue(folder, name, hosts, days)


def _authority(folder: Path, days: int) -> None:
    extensions = [word for each in _AUTHORITY for word in ("-addext", each)]
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=kappa authority", *extensions]
    _run(folder, [*request, "-days", str(days), "-keyout", "ca.key", "-out", "ca.new"])
    (folder / "ca.new").replace(folder / "ca.pem")


def _issue(folder: Path, name: str, hosts: Sequence[str], days: int) -> None:
    extensions = folder / f"{name}.ext"
    extensions.write_text(_EXTENSIONS.format(names=",".join(map(alternative, hosts))))
    request = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}"]
    _run(folder, [*request, "-keyout", f"{name}.key", "-out", f"{name}.csr"])
    sign = ["openssl", "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"]
    _run(folder, [*sign, "-days", str(days), "-extfile", extensions.name, "-out", f"{name}.pem"])
    whole = folder / f"{name}.both.pem"
    whole.touch(mode=0o600)
    whole.write_text((folder / f"{name}.key").read_text() + (folder / f"{name}.pem").read_text())
    for left in (extensions, folder / f"{name}.csr"):
        left.unlink()


def alternative(host: str) -> str:
    """A host as a certificate names it."""
    try:
        return f"IP:{ipaddress.ip_address(host)}"
    except ValueError:
        return f"DNS:{host}"


def _run(folder: Path, command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    except OSError as error:
        raise NoCertificate(str(error)) from error
    if done.returncode:
        raise NoCertificate(" ".join(done.stderr.split()))
