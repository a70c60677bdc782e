"""Certificates of an authority of a test's own, made by openssl."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path


def certify(folder: Path, hosts: Sequence[str]) -> Path:
    """An authority, and one key with a certificate for all hosts (`host.pem`, `host.key`, both in `both.pem`)."""
    folder.mkdir()
    names = ",".join(f"DNS:{host}" for host in (*hosts, "localhost"))
    (folder / "names").write_text(f"subjectAltName={names}\n")
    made = "openssl req -newkey rsa:2048 -nodes -subj /CN=kappa"
    lines = (
        f"{made} -x509 -days 2 -keyout ca.key -out ca.pem",
        f"{made} -keyout host.key -out host.csr",
        "openssl x509 -req -in host.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out host.pem",
    )
    for line in lines:
        subprocess.run(line.split(), cwd=folder, check=True, capture_output=True)
    (folder / "both.pem").write_text((folder / "host.key").read_text() + (folder / "host.pem").read_text())
    return folder / "ca.pem"
