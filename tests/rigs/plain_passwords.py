"""Kafka's users of a rig sign in by PLAIN: SCRAM costs 4,096 hashes a connection, a tenth of what rigs compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kappa.core.installation.kafka_access import MECHANISM, PASSWORD, RIGHTS, KafkaUser
from kappa.core.installation.settings import Settings
from stack.layout import Layout
from stack.services import kafka_users
from stack.services.passwords import write_private

PLAIN = kafka_users.BOOTSTRAP_MECHANISM


def sign_in_by(layout: Layout) -> None:
    """Before a broker that was prepared is started: it knows each user by PLAIN, too, as it does its administrator,
    with the password of its file, which names PLAIN from now on."""
    settings = layout.settings
    files = {user: settings.kafka_access(user).file for user in RIGHTS}
    users = " ".join(f'user_{user}="${{file:{file}:{PASSWORD}}}"' for user, file in files.items())
    name = f"listener.name.{kafka_users.CLIENT.lower()}.{PLAIN.lower()}.sasl.jaas.config"
    known = kafka_users.properties(settings)[name].rstrip(";")
    with (layout.kafka / "server.properties").open("a") as properties:
        properties.write(f"{name}={known} {users};\n")
    for file in files.values():
        write_private(file, file.read_text().replace(kafka_users.SCRAM, PLAIN))


def by_scram(settings: Settings, folder: Path) -> Settings:
    """The settings with this folder of secrets, in which the users sign in as those of a whole stack do."""

    def text(user: KafkaUser) -> str:
        held = settings.kafka_access(user).file.read_text()
        return held.replace(f"{MECHANISM}={PLAIN}", f"{MECHANISM}={kafka_users.mechanism(user)}")

    return with_files(settings, folder, text)


def with_files(settings: Settings, folder: Path, text: Callable[[KafkaUser], str]) -> Settings:
    """The settings with this folder of secrets, in which each user's file is made with that text."""
    for user in KafkaUser:
        write_private(folder / f"{user}.properties", text(user))
    return replace(settings, places=replace(settings.places, secrets=str(folder)))
