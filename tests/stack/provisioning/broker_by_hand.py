"""A broker that knows nobody but its administrator, and the changes that somebody makes to it by hand."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka.admin import AclBinding, AclBindingFilter, AdminClient, ResourcePatternType, ResourceType
from confluent_kafka.admin import AclOperation as Operation
from confluent_kafka.admin import AclPermissionType as Permission
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType, UserScramCredentialDeletion

from kappa.core.installation.kafka_access import RIGHTS, KafkaUser
from kappa.core.installation.kafka_client import connected
from stack.layout import Layout
from stack.services import kafka_users, spark

ANYTHING = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, Operation.ANY, Permission.ANY
)  # fmt: skip


class BrokerByHand:
    """The broker of a stack, as its administrator sees it."""

    def __init__(self, layout: Layout) -> None:
        self.layout, self.settings = layout, layout.settings
        self.topic = self.settings.topic.name
        self.admin = AdminClient({**self.settings.kafka_access(KafkaUser.ADMIN).librdkafka(), "log_level": 0})

    def strip(self) -> None:
        """Take away topic, users and rights that the stack makes by itself."""
        self._do(lambda admin: admin.delete_topics([self.topic]))
        self.forget(*RIGHTS)
        _wait_for(self.admin.delete_acls([ANYTHING]).values())

    def forget(self, *users: KafkaUser) -> None:
        """Delete users."""
        gone = [UserScramCredentialDeletion(str(user), kafka_users.SCRAM) for user in users]
        self._do(lambda admin: admin.alter_user_scram_credentials(gone))

    def configure(self, **values: str) -> None:
        """Settings of the topic, dots written as underscores."""
        given = {name.replace("_", "."): value for name, value in values.items()}
        resource = ConfigResource(ConfigResourceType.TOPIC, self.topic, given)
        self._do(lambda admin: admin.alter_configs([resource]))

    def configured(self) -> dict[str, str]:
        """What is set for the topic, and is no default."""
        resource = ConfigResource(ConfigResourceType.TOPIC, self.topic)
        told = self._do(lambda admin: admin.describe_configs([resource], config_filter="modified"))
        return {name: one["value"] for name, one in told["topic"][self.topic].items()}

    def limit(self, rate: int | None) -> None:
        """The reader's quota, in bytes read per second; None takes it away. By Kafka's own tool: no client that we have
        can do it."""
        what = "--delete-config=consumer_byte_rate" if rate is None else f"--add-config=consumer_byte_rate={rate}"
        access = self.settings.kafka_access(KafkaUser.ADMIN).librdkafka()
        signs = (
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            f'username="{access["sasl.username"]}" password="{access["sasl.password"]}";'
        )
        file = self.layout.home / "by_hand.properties"
        file.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={signs}\n")
        tool = [spark.java(self.layout), "-cp", f"{self.layout.broker_jars}/*", "kafka.admin.ConfigCommand"]
        where = ["--bootstrap-server", self.settings.kafka_server.bootstrap, "--command-config", str(file)]
        whom = ["--entity-type", "users", "--entity-name", str(KafkaUser.READER)]
        done = subprocess.run([*tool, *where, "--alter", *whom, what], capture_output=True, text=True)
        file.unlink()
        assert done.returncode == 0, done.stdout + done.stderr

    def allow(self, user: KafkaUser, operation: Operation) -> None:
        """Give a right on the topic."""
        right = AclBinding(*self._on_topic, f"User:{user}", "*", operation, Permission.ALLOW)
        _wait_for(self.admin.create_acls([right]).values())

    def forbid(self, user: KafkaUser, operation: Operation) -> None:
        """Take a right on the topic away, which there must be."""
        which = AclBindingFilter(*self._on_topic, f"User:{user}", "*", operation, Permission.ALLOW)
        assert all(_wait_for(self.admin.delete_acls([which]).values()))

    def rights(self) -> set[tuple[str, str, str, str]]:
        """All rights that anybody has: who, kind and name of what, operation."""
        found = self.admin.describe_acls(ANYTHING).result()
        return {(acl.principal, acl.restype.name, acl.name, acl.operation.name) for acl in found}

    def partitions(self) -> int:
        """Of the topic."""
        return len(self.admin.list_topics(self.topic, 10.0).topics[self.topic].partitions)

    @property
    def _on_topic(self) -> tuple[ResourceType, str, ResourcePatternType]:
        return ResourceType.TOPIC, self.topic, ResourcePatternType.LITERAL

    def _do(self, change: Callable[[KafkaAdminClient], Any]) -> Any:
        admin = connected(self.settings.kafka_access(KafkaUser.ADMIN), KafkaAdminClient)
        try:
            return change(admin)
        finally:
            admin.close()


def _wait_for(futures: Iterable[Any]) -> list[Any]:
    return [future.result() for future in futures]
