"""New passwords and keys for the embedded stack: which there are, who goes by each, and how each is replaced."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path

from kappa.airflow_sign_in import users_file
from kappa.core.installation.kafka_access import RIGHTS, KafkaUser
from kappa.core.installation.settings import ROLES, Settings
from kappa.core.refusals import Refusal
from stack import superuser_rotation
from stack.exclusion import exclusive
from stack.layout import Layout
from stack.services import airflow_connections, kafka, passwords, postgres
from stack.services.passwords import AIRFLOW_ROLE, AIRFLOW_USERS, SUPERUSER
from stack.superuser_rotation import former
from stack.supervision import Supervisor


class Effect(StrEnum):
    """When a new secret counts."""

    AT_ONCE = "at once; what is connected stays connected"
    AT_START = "at the next start, so only while the stack is down"
    WHILE_UP = "at once, and only while the stack is up"


class UnknownSecret(Refusal):
    """No secret of the embedded stack has this name."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"there is no secret {name!r}; known are {', '.join(known)}. Nothing was changed.")


class NeedsStackDown(Refusal):
    """What runs has read this secret when it started, and would not know who comes with another."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is read by what runs when it starts: its processes would refuse each other. Nothing was changed. "
            f"./kappa down, then ./kappa secrets rotate {name}, then ./kappa up: jobs go on from their checkpoints."
        )


class NeedsStackUp(Refusal):
    """The server has to be told by a connection that the old secret opens."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} lets in who would tell Postgres of a new one: with its file alone replaced nobody could. Nothing "
            "was changed. Run ./kappa up first."
        )


class NotTold(Refusal):
    """A server failed when it was told of a new password, and once more when it was told of the old one."""

    def __init__(self, name: str, error: Exception) -> None:
        super().__init__(
            f"{name} was not replaced: its file has the old one again, but the server may hold the new one, for it "
            f"failed twice ({error}). Run ./kappa up, which tells it what is in the file."
        )


class NotEmbedded(Refusal):
    """The installation's secrets are made by somebody else."""

    def __init__(self) -> None:
        super().__init__(
            "this installation names its own Kafka, Postgres and Spark, so its secrets are made where those are kept. "
            "Give the new one there, then replace its file in the secrets folder (docs/settings.md)."
        )


def _nothing() -> None:
    """Nobody has to be told."""


@dataclass(frozen=True)
class Secret:
    """A password or key, its file, who goes by it, when a new one counts, what writes a new one, and what tells the
    server of it: `up` does, too, so a server that is down is told by the next start. `undo` undoes what did not end;
    without it the file from before is put back."""

    name: str
    file: Path
    holders: str
    effect: Effect
    replace: Callable[[], None]
    apply: Callable[[], None] = _nothing
    undo: Callable[[], None] | None = None

    @property
    def made_at(self) -> datetime | None:
        """When the file was written; None where there is none yet."""
        return datetime.fromtimestamp(self.file.stat().st_mtime, UTC) if self.file.exists() else None


def known(layout: Layout) -> Iterator[Secret]:
    """Every secret of the embedded stack."""
    settings = layout.settings
    yield from _of_kafka(settings)
    yield from _of_postgres(settings)
    yield from _of_airflow(layout)
    auth, key = partial(passwords.write_spark_auth, settings), partial(passwords.write_spark_key, settings)
    yield Secret("spark-auth", settings.spark_auth, "Spark's processes among themselves", Effect.AT_START, auth)
    yield Secret("spark-rest", settings.spark_key, "whoever submits to Spark's master", Effect.AT_START, key)


def _of_kafka(settings: Settings) -> Iterator[Secret]:
    """The administrator's is in the broker's own properties, which it reads when it starts."""
    for user in KafkaUser:
        file, write = settings.kafka_access(user).file, partial(passwords.write_user, settings, user)
        if user in RIGHTS:
            tell = partial(kafka.ensure_users, settings)
            yield Secret(str(user), file, "a user of Kafka", Effect.AT_ONCE, write, tell)
        else:
            yield Secret(str(user), file, "a user of Kafka", Effect.AT_START, write)


def _of_postgres(settings: Settings) -> Iterator[Secret]:
    for role in ROLES:
        write, tell = partial(passwords.write_role, settings, role), partial(postgres.tell_password, settings, role)
        yield Secret(role, settings.passfile(role), "a role of Postgres", Effect.AT_ONCE, write, tell)
    change, settle = partial(superuser_rotation.replace, settings), partial(superuser_rotation.settle, settings)
    file, holder = settings.passfile(SUPERUSER), "the superuser of Postgres"
    yield Secret(SUPERUSER, file, holder, Effect.WHILE_UP, change, undo=settle)


def _of_airflow(layout: Layout) -> Iterator[Secret]:
    settings = layout.settings
    for person in AIRFLOW_USERS:
        change = partial(_person, layout, person)
        yield Secret(f"airflow:{person}", users_file(settings), "a user of Airflow", Effect.AT_ONCE, change)
    file, write = settings.passfile(AIRFLOW_ROLE), partial(passwords.write_role, settings, AIRFLOW_ROLE)
    yield Secret(AIRFLOW_ROLE, file, "Airflow, in its own database", Effect.AT_START, write)
    keys, renew = passwords.airflow_keys_file(settings), partial(passwords.write_airflow_keys, settings)
    yield Secret("airflow-keys", keys, "Airflow's tokens", Effect.AT_START, renew)


def rotate(layout: Layout, name: str) -> Secret:
    """Replace a secret; a server that does not take it keeps the old one, and so does the file.

    Raises NotEmbedded, UnknownSecret, Busy, NeedsStackDown, NeedsStackUp, NotTold, Undecided; what the server raises.
    """
    if not layout.settings.is_embedded:
        raise NotEmbedded
    secret = _found(layout, name)
    with exclusive(layout.home):
        runs = Supervisor(layout).running()
        if secret.effect is Effect.AT_START and runs:
            raise NeedsStackDown(name)
        if secret.effect is Effect.WHILE_UP and not runs:
            raise NeedsStackUp(name)
        _replace(secret, runs)
    return secret


def _replace(secret: Secret, runs: bool) -> None:
    """Also when it is interrupted, what the server holds and what the file has must not differ."""
    try:
        with _kept(secret):
            secret.replace()
            if runs:
                secret.apply()
    except BaseException:
        if runs:
            _tell_again(secret)
        raise


def _tell_again(secret: Secret) -> None:
    """A server may have taken the new one before it failed: tell it what the file has again. Raises NotTold."""
    try:
        secret.apply()
    except Exception as error:
        raise NotTold(secret.name, error) from error


def _found(layout: Layout, name: str) -> Secret:
    by_name = {secret.name: secret for secret in known(layout)}
    if name not in by_name:
        raise UnknownSecret(name, list(by_name))
    return by_name[name]


def _person(layout: Layout, person: str) -> None:
    """The connection by which notes are left has one of these passwords, too."""
    people = passwords.people(layout.settings) | {person: secrets.token_urlsafe(12)}
    passwords.write_people(layout.settings, people)
    if airflow_connections.file(layout).exists():
        airflow_connections.write(layout)


@contextmanager
def _kept(secret: Secret) -> Iterator[None]:
    """The file as it was lies beside it until the new secret counts, and is put back if it never does; first that of a
    rotation that was killed."""
    undo, old = secret.undo or partial(_put_back, secret.file), former(secret.file)
    undo()
    if secret.file.exists():
        passwords.write_private(old, secret.file.read_text())
    try:
        yield
    except BaseException:
        undo()
        raise
    old.unlink(missing_ok=True)


def _put_back(file: Path) -> None:
    if former(file).exists():
        former(file).replace(file)
