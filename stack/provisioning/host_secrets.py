"""Makes what no state may hold: passwords, keys and certificates of an installation's hosts.

`python -m stack.provisioning.host_secrets SETTINGS FOLDER HOST...`: into FOLDER/secrets, which every host gets, and
FOLDER/authority, which none does. What is there stays; a certificate that ends within a month is made anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kappa.core.installation.settings import Settings, load
from kappa.core.refusals import Refusal
from stack.services import passwords

AUTHORITY_DAYS, HOST_DAYS = 3650, 398
MONTH_SECONDS = 30 * 86_400
_NEW_KEY = ("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class CertificateNotMade(Refusal):
    """openssl is not there, or could not do what it was asked for."""

    def __init__(self, name: str, problem: object) -> None:
        super().__init__(
            f"the certificate of {name} was not made: {problem}. Install openssl 3, or correct what it names, and "
            "apply again: passwords, keys and certificates that are there stay."
        )


def make(settings: Settings, folder: Path, hosts: Sequence[str]) -> None:
    """All that is missing. Raises CertificateNotMade."""
    made = folder / "secrets"
    passwords.make(replace(settings, places=replace(settings.places, secrets=str(made))))
    for place in (folder / "authority", made / "tls"):
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = folder / "authority" / "ca"
    if not authority.with_suffix(".key").exists():
        _authority(authority)
    _put(made / "ca.pem", authority.with_suffix(".crt").read_text())
    for host in hosts:
        if not _lasts(made / "tls" / f"{host}.crt"):
            _certify(authority, made / "tls" / host, host)


def _authority(place: Path) -> None:
    """A new authority: `place`.key and `place`.crt."""
    names = ("-subj", "/CN=Kappa Ads", "-addext", "basicConstraints=critical,CA:TRUE,pathlen:0")
    use = ("-addext", "keyUsage=critical,keyCertSign,cRLSign", "-days", str(AUTHORITY_DAYS))
    _run("the authority", *_NEW_KEY, "-x509", *names, *use, "-keyout", f"{place}.key.new", "-out", f"{place}.crt")
    Path(f"{place}.key.new").replace(place.with_suffix(".key"))


def _certify(authority: Path, place: Path, host: str) -> None:
    """A new key and certificate of a host: `place`.key, .crt, and both in .pem, as Kafka takes them."""
    kinds = {name: place.with_name(f"{host}.{name}") for name in ("key", "csr", "crt", "pem", "ext")}
    kinds["ext"].write_text(f"subjectAltName=DNS:{host}\nextendedKeyUsage=serverAuth,clientAuth\n")
    _run(host, *_NEW_KEY, "-subj", f"/CN={host}", "-keyout", str(kinds["key"]), "-out", str(kinds["csr"]))
    _run(
        host, "openssl", "x509", "-req", "-in", str(kinds["csr"]), "-CA", f"{authority}.crt", "-CAkey",
        f"{authority}.key", "-days", str(HOST_DAYS), "-extfile", str(kinds["ext"]), "-out", str(kinds["crt"]),
    )  # fmt: skip
    _put(kinds["pem"], kinds["key"].read_text() + kinds["crt"].read_text())
    for name in ("csr", "ext"):
        kinds[name].unlink()


def _lasts(certificate: Path) -> bool:
    """Whether a certificate is there, and will be valid in a month."""
    command = ["openssl", "x509", "-checkend", str(MONTH_SECONDS), "-noout", "-in", str(certificate)]
    return certificate.exists() and subprocess.run(command, capture_output=True).returncode == 0


def _put(file: Path, text: str) -> None:
    if not file.exists() or file.read_text() != text:
        passwords.write_private(file, text)


def _run(name: str, *command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, umask=0o077)
    except OSError as error:
        raise CertificateNotMade(name, f"{command[0]}: {error.strerror}") from error
    if done.returncode:
        raise CertificateNotMade(name, (done.stderr.strip().splitlines() or ["openssl said nothing"])[-1])


if __name__ == "__main__":
    file, to, *names = sys.argv[1:]
    try:
        make(load(Path(to), {**os.environ, "KAPPA_SETTINGS": file}), Path(to), names)
    except Refusal as refusal:
        sys.exit(str(refusal))
