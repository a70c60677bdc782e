"""Certificates of an authority of one's own, made by openssl: for parts that are reached over TLS on a private
network."""

from __future__ import annotations

import ipaddress
import re
import secrets
import ssl
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from kappa.core.refusals import Refusal
from stack.services.passwords import write_private

DAYS = 825
RENEWED_BEFORE = timedelta(days=30)
"""So long before its end a certificate is made anew, and named where nobody makes it."""
RSA = ("-newkey", "rsa:2048")
P_256 = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")
"""How openssl makes a key."""
_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?", re.S)
_AUTHORITY = "basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"
_EXTENSIONS = """\
basicConstraints=CA:FALSE
subjectKeyIdentifier=hash
authorityKeyIdentifier=keyid
"""


class NoCertificate(Refusal):
    """openssl is not there, or could not do what it was asked for."""

    def __init__(self, name: str, problem: object) -> None:
        super().__init__(
            f"the certificate of {name} was not made: {problem}. Install openssl 3, or correct what it names (room in "
            "the folder, too), and do this again: passwords, keys and certificates that are there stay."
        )


class NoEnd(Refusal):
    """Until when a file's certificate holds is not to be read from it."""

    def __init__(self, file: Path, problem: str) -> None:
        super().__init__(
            f"{file} does not say until when its certificate holds: {problem}. Install openssl 3, or put a certificate "
            "in PEM form there. Nothing was changed."
        )


class Pair(NamedTuple):
    """A key and its certificate, each in a file of its own."""

    key: Path
    certificate: Path


def ensure(folder: Path, name: str, hosts: Sequence[str], days: int = DAYS) -> None:
    """An authority (`ca.key`, `ca.pem`) and by it a key and a certificate for these hosts (`NAME.key`, `NAME.pem`, both
    in `NAME.both.pem`); what is there stays. Raises NoCertificate."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = Pair(folder / "ca.key", folder / "ca.pem")
    if not authority.certificate.exists():
        make_authority(authority, "kappa authority", _AUTHORITY, RSA, days)
    both = folder / f"{name}.both.pem"
    if not both.exists():
        issue(authority, Pair(folder / f"{name}.key", folder / f"{name}.pem"), both, hosts, _EXTENSIONS, RSA, days)


def make_authority(made: Pair, name: str, extensions: Sequence[str], kind: Sequence[str], days: int) -> None:
    """An authority that vouches for itself; its certificate is there last. No two have the same name: who trusts both
    while one follows the other may keep them by it (ZooKeeper's client does). Raises NoCertificate."""
    new = Pair(*(file.with_name(f"{file.name}.new") for file in made))
    added = [word for each in extensions for word in ("-addext", each)]
    of_its_own = f"/CN={name} {secrets.token_hex(4)}"
    self_signed = ["req", "-x509", *kind, "-nodes", "-subj", of_its_own, *added, "-days", str(days)]
    _openssl("the authority", *self_signed, "-keyout", new.key, "-out", new.certificate)
    for file, there in zip(new, made, strict=True):
        file.replace(there)


def issue(
    authority: Pair, made: Pair, both: Path, hosts: Sequence[str], extensions: str, kind: Sequence[str], days: int
) -> None:
    """A new key and a certificate of these hosts by an authority, and in `both` the two of them, as Kafka takes them;
    that file is there last. Raises NoCertificate."""
    name, request, told = made.key.stem, made.key.with_suffix(".csr"), made.key.with_suffix(".ext")
    told.write_text(f"subjectAltName={','.join(map(alternative, hosts))}\n{extensions}")
    _openssl(name, "req", *kind, "-nodes", "-subj", f"/CN={name}", "-keyout", made.key, "-out", request)
    by = ("-CA", authority.certificate, "-CAkey", authority.key, "-days", str(days), "-extfile", told)
    _openssl(name, "x509", "-req", "-in", request, *by, "-out", made.certificate)
    write_private(both, made.key.read_text() + made.certificate.read_text())
    for left in (request, told):
        left.unlink()


def lasts(certificate: Path, time: timedelta) -> bool:
    """Whether a certificate is there, and valid for so long."""
    try:
        return ends(certificate) > datetime.now(UTC) + time
    except (NoEnd, FileNotFoundError):
        return False


def ends(file: Path) -> datetime:
    """When the certificate of a file ends (UTC); of several the one that lasts longest, since an authority that was
    renewed stands beside the older one. Raises NoEnd, OSError."""
    found = _CERTIFICATE.findall(file.read_text(errors="replace"))
    if not found:
        raise NoEnd(file, "no certificate is in it")
    return max(_end(file, one) for one in found)


def _end(file: Path, certificate: str) -> datetime:
    command = ["openssl", "x509", "-noout", "-enddate"]
    try:
        done = subprocess.run(command, input=certificate, capture_output=True, text=True)
    except OSError as error:
        raise NoEnd(file, f"openssl: {error.strerror}") from error
    if done.returncode:
        raise NoEnd(file, (done.stderr.strip().splitlines() or ["openssl said nothing"])[-1])
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(done.stdout.strip().partition("=")[2]), UTC)


def alternative(host: str) -> str:
    """A host as a certificate names it."""
    try:
        return f"IP:{ipaddress.ip_address(host)}"
    except ValueError:
        return f"DNS:{host}"


def _openssl(name: str, *arguments: str | Path) -> None:
    """Nobody else may read what it writes."""
    try:
        done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, umask=0o077)
    except OSError as error:
        raise NoCertificate(name, f"openssl: {error.strerror}") from error
    if done.returncode:
        raise NoCertificate(name, (done.stderr.strip().splitlines() or ["openssl said nothing"])[-1])
