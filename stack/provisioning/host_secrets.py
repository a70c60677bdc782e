"""Makes what no state may hold: passwords, keys and certificates of an installation's hosts.

`python -m stack.provisioning.host_secrets SETTINGS FOLDER HOST=ROLE,ROLE...`: all of them into FOLDER/secrets, what a
host needs of them into FOLDER/given/HOST, the authority's key into FOLDER/authority, which no host gets. What is there
stays, but for the server that Postgres's password files name; a certificate that ends within a month is made anew. Of a
HOST without roles only the certificate is made.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kappa.core.installation.settings import Settings, load
from kappa.core.refusals import Refusal
from stack.provisioning import role_secrets
from stack.provisioning.role_secrets import CA, HOST_FILE, Host
from stack.services import certificates, passwords
from stack.services.certificates import P_256, Pair

AUTHORITY_DAYS, HOST_DAYS = 3650, 398
_AUTHORITY = "basicConstraints=critical,CA:TRUE,pathlen:0", "keyUsage=critical,keyCertSign,cRLSign"
_EXTENSIONS = "extendedKeyUsage=serverAuth,clientAuth\n"


def make(settings: Settings, folder: Path, words: Sequence[str]) -> None:
    """All that is missing, and what each host, HOST=ROLE,ROLE, is given of it. Raises NoCertificate, UnknownRole."""
    hosts = [role_secrets.read(word) for word in words]
    made = folder / "secrets"
    passwords.make(replace(settings, places=replace(settings.places, secrets=str(made))))
    for place in (folder / "authority", made / "tls"):
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = Pair(folder / "authority" / "ca.key", folder / "authority" / "ca.crt")
    if not authority.certificate.exists():
        certificates.make_authority(authority, "Kappa Ads", _AUTHORITY, P_256, AUTHORITY_DAYS)
    _put(made / CA, authority.certificate.read_text())
    for host in (host.name for host in hosts):
        place = made / "tls" / host
        pair = Pair(place.with_name(f"{host}.key"), place.with_name(f"{host}.crt"))
        both = place.with_name(f"{host}.pem")
        if not all(certificates.lasts(file, certificates.RENEWED_BEFORE) for file in (pair.certificate, both)):
            certificates.issue(authority, pair, both, [host], _EXTENSIONS, P_256, HOST_DAYS)
    _hand_out(settings, folder, hosts)


def _hand_out(settings: Settings, folder: Path, hosts: Sequence[Host]) -> None:
    """A folder for each host with what it needs and nothing else that is made here, and none for a host that is no
    more. A file that is not made yet, as the address of somebody to be told, is left out; what others put there, as the
    token of who signed in, stays."""
    made, places = folder / "secrets", folder / "given"
    places.mkdir(exist_ok=True, mode=0o700)
    for host in hosts:
        names, place = role_secrets.files(settings, host), places / host.name
        names |= role_secrets.certificates(hosts) if role_secrets.LOOKS.intersection(host.roles) else set()
        for name in sorted(name for name in names if (made / name).exists()):
            for around in (place, (place / name).parent):
                around.mkdir(exist_ok=True, mode=0o700)
            _put(place / name, (made / name).read_text())
        _put(place / HOST_FILE, f"{host}\n")
        for left in [file for file in place.rglob("*") if file.is_file()]:
            name = str(left.relative_to(place))
            if name not in names and (name.startswith("tls/") or (made / name).exists()):
                left.unlink()
    for gone in {place.name for place in places.iterdir()} - {host.name for host in hosts}:
        shutil.rmtree(places / gone)


def _put(file: Path, text: str) -> None:
    if not file.exists() or file.read_text() != text:
        passwords.write_private(file, text)


if __name__ == "__main__":
    file, to, *words = sys.argv[1:]
    try:
        make(load(Path(to), {**os.environ, "KAPPA_SETTINGS": file}), Path(to), words)
    except Refusal as refusal:
        sys.exit(str(refusal))
