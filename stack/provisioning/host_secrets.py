"""Makes what no state may hold: passwords, keys and certificates of an installation's hosts.

`python -m stack.provisioning.host_secrets SETTINGS FOLDER HOST...`: into FOLDER/secrets, which every host gets, and
FOLDER/authority, which none does. What is there stays, but for the server that Postgres's password files name; a
certificate that ends within a month is made anew.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kappa.core.installation.settings import Settings, load
from kappa.core.refusals import Refusal
from stack.services import certificates, passwords
from stack.services.certificates import P_256, Pair

AUTHORITY_DAYS, HOST_DAYS = 3650, 398
_AUTHORITY = "basicConstraints=critical,CA:TRUE,pathlen:0", "keyUsage=critical,keyCertSign,cRLSign"
_EXTENSIONS = "extendedKeyUsage=serverAuth,clientAuth\n"


def make(settings: Settings, folder: Path, hosts: Sequence[str]) -> None:
    """All that is missing. Raises NoCertificate."""
    made = folder / "secrets"
    passwords.make(replace(settings, places=replace(settings.places, secrets=str(made))))
    for place in (folder / "authority", made / "tls"):
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = Pair(folder / "authority" / "ca.key", folder / "authority" / "ca.crt")
    if not authority.certificate.exists():
        certificates.make_authority(authority, "Kappa Ads", _AUTHORITY, P_256, AUTHORITY_DAYS)
    _put(made / "ca.pem", authority.certificate.read_text())
    for host in hosts:
        place = made / "tls" / host
        pair = Pair(place.with_name(f"{host}.key"), place.with_name(f"{host}.crt"))
        both = place.with_name(f"{host}.pem")
        if not all(certificates.lasts(file, certificates.RENEWED_BEFORE) for file in (pair.certificate, both)):
            certificates.issue(authority, pair, both, [host], _EXTENSIONS, P_256, HOST_DAYS)


def _put(file: Path, text: str) -> None:
    if not file.exists() or file.read_text() != text:
        passwords.write_private(file, text)


if __name__ == "__main__":
    file, to, *names = sys.argv[1:]
    try:
        make(load(Path(to), {**os.environ, "KAPPA_SETTINGS": file}), Path(to), names)
    except Refusal as refusal:
        sys.exit(str(refusal))
