"""The secrets that an installation holds, and where they are found: as they are, in base 64, and in what is zipped."""

from __future__ import annotations

import io
import zipfile
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kappa.core.installation.kafka_access import PASSWORD, KafkaUser
from kappa.core.installation.settings import ROLES, Settings
from kappa.signed_requests import worker_key
from stack.services import passwords

HANDED_DOWN = "_SPARK_AUTH_SECRET"
"""By this variable a worker of Spark gives its drivers and executors the secret that they all have."""


def secrets_of(settings: Settings, roles: Iterable[str] = (), keys: Iterable[Path] = ()) -> dict[str, str]:
    """Passwords of the roles of Postgres, of these others and of Kafka's users, Spark's keys, and a line of the heart
    of each private key; by name."""
    held = {role: passwords.password(settings, role) for role in (*ROLES, passwords.SUPERUSER, *roles)}
    held |= {str(user): settings.kafka_access(user).librdkafka()[PASSWORD] for user in KafkaUser}
    key = settings.spark_key.read_text().strip()
    held |= {"spark": passwords.spark_secret(settings), "spark-rest": key, "pages of workers": worker_key(key)}
    return held | {str(key): key.read_text().splitlines()[1] for key in keys}


def found(secrets: Mapping[str, str], texts: Mapping[str, bytes]) -> list[tuple[str, str]]:
    """(secret, where) of each secret that is in a text; a zipped text is looked at unpacked, too."""
    all_texts = [one for name, text in texts.items() for one in _unpacked(name, text)]
    forms = {name: list(_forms(secret.encode())) for name, secret in secrets.items()}
    return [(name, where) for where, text in all_texts for name, of in forms.items() if any(f in text for f in of)]


def _unpacked(name: str, text: bytes) -> Iterator[tuple[str, bytes]]:
    yield name, text
    if zipfile.is_zipfile(io.BytesIO(text)):
        with zipfile.ZipFile(io.BytesIO(text)) as packed:
            for member in packed.namelist():
                yield f"{name}: {member}", packed.read(member)


def _forms(secret: bytes) -> Iterator[bytes]:
    """The secret, and what base 64 makes of it wherever it begins in a text, without the characters that depend on
    what stands beside it."""
    yield secret
    for before in range(3):
        encoded = b64encode(bytes(before) + secret).rstrip(b"=")
        whole = (before + len(secret)) // 3 * 4
        yield encoded[-(-before * 8 // 6) : whole]
