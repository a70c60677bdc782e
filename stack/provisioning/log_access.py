"""The log's topic and Kafka's users by Terraform (`targets/local`), in place of those that the stack makes itself."""

from __future__ import annotations

from typing import Any

from kappa.core.installation.kafka_access import RIGHTS
from kappa.core.installation.settings import Settings
from stack.layout import Layout
from stack.provisioning import providers
from stack.provisioning.providers import Echo
from stack.provisioning.terraform import Target, executable
from stack.services import kafka

TARGET = "local"
FOLDER = "terraform"
"""Of the state folder: Terraform's state, its variables and what it said."""


def variables(settings: Settings, adopt: bool, copies: int = 1) -> dict[str, Any]:
    """What `targets/local` is told: addresses, the topic, and the path of the secrets, but no secret. A password is
    handed to the broker again when its file is another. `adopt`: the topic is there already."""
    server, topic = settings.kafka_server, settings.topic
    files = {user: settings.kafka_access(user).file for user in RIGHTS}
    return {
        "bootstrap": [address.strip() for address in server.bootstrap.split(",")],
        "protocol": server.protocol,
        "ca": server.ca,
        "secrets": str(settings.secrets),
        "topic": {
            "name": topic.name,
            "partitions": topic.partitions,
            "retention_hours": topic.retention_hours,
            "replication_factor": copies,
        },
        "adopt": adopt,
        "password_versions": {str(user): str(file.stat().st_mtime_ns) for user, file in files.items()},
    }


def target(layout: Layout, echo: Echo) -> Target:
    """The target of this stack, with its providers. Raises NoTerraform, NoGo, NotBuilt."""
    executable(layout.environment)
    mirrors = providers.build(layout.checkout, layout.environment, echo)
    return Target(TARGET, layout.checkout, layout.home / FOLDER, mirrors, layout.environment)


def apply(target: Target, settings: Settings, copies: int = 1) -> None:
    """Topic, users, rights and quotas as the settings say; nothing changes where they are so already. Raises
    NoTerraform, TerraformFailed, KafkaError."""
    target.prepare(variables(settings, kafka.has_topic(settings), copies))
    target.apply()
