"""Kafka's users of a rig sign in by PLAIN: SCRAM costs 4,096 hashes a connection, a tenth of what rigs compute."""

from __future__ import annotations

import os
from pathlib import Path

from kappa.core.installation.kafka_access import PASSWORD, RIGHTS
from kappa.core.installation.settings import Settings
from stack.layout import Layout
from stack.services import kafka_users
from stack.services.passwords import write_private


def accept(layout: Layout) -> None:
    """Have a broker that was prepared, and not yet started, know each user by PLAIN, too, as its administrator: with
    the password of its file."""
    settings = layout.settings
    users = " ".join(f'user_{user}="${{file:{settings.kafka_access(user).file}:{PASSWORD}}}"' for user in RIGHTS)
    name = f"listener.name.{kafka_users.CLIENT.lower()}.{kafka_users.BOOTSTRAP_MECHANISM.lower()}.sasl.jaas.config"
    known = kafka_users.properties(settings)[name].rstrip(";")
    with (layout.kafka / "server.properties").open("a") as file:
        file.write(f"{name}={known} {users};\n")


def put(settings: Settings, folder: Path) -> None:
    """Make a folder of the same secrets, in which the files of these users name PLAIN."""
    folder.mkdir(parents=True, mode=0o700)
    files = {settings.kafka_access(user).file for user in RIGHTS}
    for file in settings.secrets.iterdir():
        if file in files:
            text = file.read_text().replace(kafka_users.SCRAM, kafka_users.BOOTSTRAP_MECHANISM)
            write_private(folder / file.name, text)
        else:
            os.symlink(file, folder / file.name)
