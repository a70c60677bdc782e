"""The bucket of the profile `s3`: where it is, its server's configuration, and the keys of those who use it."""

from __future__ import annotations

import secrets
from pathlib import Path

from stack.containers import names
from stack.services.passwords import write_private

NAME = "kappa"
KEYS = "s3.env"
"""Variables with the keys, as a shell reads them: in the secrets folder, and given to those who use the bucket."""
CONFIGURATION = "s3.properties"
DATA = Path("/var/lib/kappa/data")
_IDENTITY, _CREDENTIAL = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"


def setting(endpoint: str) -> str:
    """The setting `places.store`, by what its server is called from where that is read."""
    return f"s3a://{NAME}/state?endpoint={endpoint}"


def ensure_keys(folder: Path) -> None:
    """Keys in the secrets folder, unless they are there."""
    file = folder / KEYS
    if not file.exists():
        write_private(file, f"{_IDENTITY}=kappa\n{_CREDENTIAL}={secrets.token_urlsafe(32)}\n")


def keys(folder: Path) -> dict[str, str]:
    """The variables of the keys in a secrets folder."""
    return dict(line.split("=", 1) for line in (folder / KEYS).read_text().splitlines())


def of_server(folder: Path) -> str:
    """The configuration of the server in its container, for these keys."""
    return properties(f"http://0.0.0.0:{names.S3_PORT}", keys(folder), DATA)


def properties(endpoint: str, keys: dict[str, str], data: Path) -> str:
    """The configuration of a server of s3proxy that listens at `endpoint`: each folder of `data` is a bucket."""
    return (
        f"s3proxy.endpoint={endpoint}\ns3proxy.authorization=aws-v2-or-v4\n"
        f"s3proxy.identity={keys[_IDENTITY]}\ns3proxy.credential={keys[_CREDENTIAL]}\n"
        f"jclouds.provider=filesystem-nio2\njclouds.filesystem.basedir={data}\n"
    )
