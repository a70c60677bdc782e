"""Passwords and keys of the stack: made at first start, one file of mode 0600 each, never anywhere else."""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path

from kappa.airflow_sign_in import users_file
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import ROLES, Settings
from kappa.signed_requests import worker_key
from stack.services import kafka_users

SUPERUSER = "postgres"
AIRFLOW_ROLE = "airflow"
PERSON, APPROVER = "operator", "approver"
"""Who commands act as where nobody signed in, and who answers what that one asked."""
AIRFLOW_USERS = {"admin": "admin", PERSON: "op", APPROVER: "user"}
_SIGNED = "org.apache.spark.ui.JWSFilter"
"""Lets a request pass that bears a token signed with the key (HS256, RFC 7515); any other is answered 403."""
_ENTRY = re.compile(r"((?:[^:\\\n]|\\.)*):((?:[^:\\\n]|\\.)*):(.*\n?)")
"""A password file of one line: host, port, and the rest; a backslash takes a colon's meaning away."""


def make(settings: Settings) -> None:
    """Every password file that is missing; those that exist keep their passwords, and follow a Postgres that has
    moved."""
    settings.secrets.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings.secrets.chmod(0o700)
    for role in (*ROLES, AIRFLOW_ROLE, SUPERUSER):
        if settings.passfile(role).exists():
            _follow_server(settings, role)
        else:
            write_role(settings, role)
    for user in KafkaUser:
        if not settings.kafka_access(user).file.exists():
            write_user(settings, user)
    held = people(settings)
    write_people(settings, held | {name: secrets.token_urlsafe(12) for name in AIRFLOW_USERS if name not in held})
    if not airflow_keys_file(settings).exists():
        write_airflow_keys(settings)
    if not settings.spark_key.exists():
        write_spark_key(settings)
    if not settings.spark_auth.exists():
        write_spark_auth(settings)
    _make_spark_parts(settings)


def write_role(settings: Settings, role: str) -> None:
    """A new password for a role of Postgres, in its file."""
    line = f"{settings.database_server.host}:*:*:{role}:{secrets.token_urlsafe(24)}\n"
    write_private(settings.passfile(role), line)


def _follow_server(settings: Settings, role: str) -> None:
    """Correct host and port of a password file: libpq gives the password to no server that the file does not name, and
    says only that none was supplied. What matches any server stays, and so does a file that is none of ours."""
    file, server = settings.passfile(role), settings.database_server
    held = file.read_text()
    if entry := _ENTRY.fullmatch(held):
        host, port, rest = entry.groups()
        host = host if host in ("*", server.host) else server.host
        port = port if port in ("*", str(server.port)) else "*"
        if (corrected := f"{host}:{port}:{rest}") != held:
            write_private(file, corrected)


def write_user(settings: Settings, user: KafkaUser) -> None:
    """A new password for a user of Kafka, in its file."""
    text = kafka_users.password_file(user, settings.kafka_server.protocol, secrets.token_urlsafe(24))
    write_private(settings.kafka_access(user).file, text)


def people(settings: Settings) -> dict[str, str]:
    """The passwords of Airflow's users, by name."""
    file = users_file(settings)
    held: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    return held


def write_people(settings: Settings, held: dict[str, str]) -> None:
    """The passwords of Airflow's users. One that were missing Airflow would make, and print it into a log."""
    if held != people(settings):
        write_private(users_file(settings), json.dumps(held))


def write_airflow_keys(settings: Settings) -> None:
    """New keys for Airflow's tokens. The key of what its database holds encrypted stays, or it could read none."""
    keys = _new_keys()
    if airflow_keys_file(settings).exists():
        keys["fernet_key"] = airflow_keys(settings)["fernet_key"]
    write_private(airflow_keys_file(settings), json.dumps(keys))


def write_spark_key(settings: Settings) -> None:
    """A new key for requests to Spark's master."""
    write_private(settings.spark_key, secrets.token_urlsafe(32))


def write_spark_auth(settings: Settings) -> None:
    """A new secret of Spark's processes."""
    secret = f"spark.authenticate.secret={secrets.token_urlsafe(32)}"
    write_private(settings.spark_auth, f"spark.authenticate=true\n{secret}\n")


def password(settings: Settings, role: str) -> str:
    """The password of a database role, from its password file."""
    return settings.passfile(role).read_text().strip().rsplit(":", 1)[1]


def airflow_login(settings: Settings, user: str = PERSON) -> tuple[str, str]:
    """Name and password of one of Airflow's users."""
    return user, people(settings)[user]


def airflow_keys(settings: Settings) -> dict[str, str]:
    """Airflow's `fernet_key`, `jwt_secret` and `secret_key`."""
    keys: dict[str, str] = json.loads(airflow_keys_file(settings).read_text())
    return keys


def spark_secret(settings: Settings) -> str:
    """The secret by which Spark's processes know each other."""
    return settings.spark_auth.read_text().strip().rsplit("=", 1)[1]


def spark_master(settings: Settings) -> Path:
    """The properties of Spark's master: the secret of its processes, and the key that requests must be signed with."""
    return settings.secrets / "spark-master.properties"


def spark_worker(settings: Settings) -> Path:
    """The properties of Spark's workers: the secret of its processes, and the key of their pages, which starts no
    driver."""
    return settings.secrets / "spark-worker.properties"


def write_private(file: Path, text: str) -> None:
    """Write a file of mode 0600, whole or not at all; it is on the disk before anybody is told of what it holds."""
    new = file.with_name(file.name + ".new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    new.replace(file)
    _keep_names(file.parent)


def _keep_names(folder: Path) -> None:
    """A file's new name is on the disk, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def airflow_keys_file(settings: Settings) -> Path:
    """The file of Airflow's keys."""
    return settings.secrets / "airflow-keys.json"


def _make_spark_parts(settings: Settings) -> None:
    """What Spark's master and workers read, made anew at each start from the two secrets."""
    key = settings.spark_key.read_text().strip()
    write_private(spark_master(settings), _spark_part(settings, ("master.rest.filters", "ui.filters"), key))
    write_private(spark_worker(settings), _spark_part(settings, ("ui.filters",), worker_key(key)))


def _spark_part(settings: Settings, filters: Iterable[str], key: str) -> str:
    guards = "".join(f"spark.{name}={_SIGNED}\n" for name in filters)
    return f"{settings.spark_auth.read_text()}{guards}spark.{_SIGNED}.param.secretKey={key}\n"


def _new_keys() -> dict[str, str]:
    """A fernet key is 32 bytes in urlsafe base64; the two others are any long text."""
    fernet = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
    return {
        "fernet_key": fernet,
        "jwt_secret": secrets.token_urlsafe(48),
        "secret_key": secrets.token_urlsafe(32),
    }
