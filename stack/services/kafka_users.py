"""Who may do what in the embedded broker: one user for each purpose, and no right that the purpose does not need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafka.admin import ACL, ACLOperation, ACLPermissionType, KafkaAdminClient, ResourcePattern, ResourceType
from kafka.admin import UserScramCredentialUpsertion as Credential
from kafka.errors import KafkaError

from kappa.core.installation.kafka_access import FILE_PROVIDER, MECHANISM, PASSWORD, RIGHTS, USERNAME, KafkaUser, login
from kappa.core.installation.settings import Settings

CLIENT, CONTROLLER = "CLIENT", "CONTROLLER"
"""The listeners: of all clients, and of the broker's own talk with its controller."""
BOOTSTRAP_MECHANISM = "PLAIN"
"""By this one the broker knows its administrator before it holds any user."""
SCRAM = "SCRAM-SHA-512"

ANY = "*"


def mechanism(user: KafkaUser) -> str:
    """How a user of the embedded broker signs in."""
    return BOOTSTRAP_MECHANISM if user is KafkaUser.ADMIN else SCRAM


def password_file(user: KafkaUser, protocol: str, password: str) -> str:
    """The text of a user's password file: all that a client needs beside the address, in librdkafka's names."""
    held = {MECHANISM: mechanism(user), USERNAME: str(user), PASSWORD: password}
    return "".join(f"{name}={value}\n" for name, value in {"security.protocol": protocol, **held}.items())


def properties(settings: Settings) -> dict[str, str]:
    """What server.properties says of users. It names the administrator's password file and holds no password."""
    admin = settings.kafka_access(KafkaUser.ADMIN).file
    known = login(BOOTSTRAP_MECHANISM, admin).rstrip(";") + f' user_{KafkaUser.ADMIN}="${{file:{admin}:{PASSWORD}}}";'
    scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    client, controller = (f"listener.name.{listener.lower()}" for listener in (CLIENT, CONTROLLER))
    return {
        "config.providers": "file",
        "config.providers.file.class": FILE_PROVIDER,
        "listener.security.protocol.map": f"{CLIENT}:SASL_PLAINTEXT,{CONTROLLER}:SASL_PLAINTEXT",
        "inter.broker.listener.name": CLIENT,
        "sasl.mechanism.inter.broker.protocol": BOOTSTRAP_MECHANISM,
        "sasl.mechanism.controller.protocol": BOOTSTRAP_MECHANISM,
        f"{client}.sasl.enabled.mechanisms": f"{SCRAM},{BOOTSTRAP_MECHANISM}",
        f"{client}.{SCRAM.lower()}.sasl.jaas.config": scram,
        f"{client}.{BOOTSTRAP_MECHANISM.lower()}.sasl.jaas.config": known,
        f"{controller}.sasl.enabled.mechanisms": BOOTSTRAP_MECHANISM,
        f"{controller}.{BOOTSTRAP_MECHANISM.lower()}.sasl.jaas.config": known,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{KafkaUser.ADMIN}",
    }


def ensure(admin: KafkaAdminClient, settings: Settings) -> None:
    """Each user with the password of its file, so that a new file is a new password, and their rights. Raises
    UserUnknown, KafkaError."""
    held = {user: settings.kafka_access(user).librdkafka()[PASSWORD] for user in RIGHTS}
    refused = admin.alter_user_scram_credentials(
        [Credential(str(user), SCRAM, password) for user, password in held.items()]
    )
    _check(f"user {user}: {error}" for user, error in refused.items() if error)
    allowed = admin.create_acls(list(rights(settings.topic.name)))
    _check(map(str, allowed["failed"]))


def rights(topic: str) -> Iterator[ACL]:
    """The rights of all users on a topic, and the reader's to read in any consumer group."""
    for user, operations in RIGHTS.items():
        for operation in operations:
            yield _right(user, ACLOperation[operation], ResourceType.TOPIC, topic)
    yield _right(KafkaUser.READER, ACLOperation.READ, ResourceType.GROUP, ANY)


def _right(user: KafkaUser, operation: ACLOperation, kind: ResourceType, name: str) -> ACL:
    return ACL(f"User:{user}", ANY, operation, ACLPermissionType.ALLOW, ResourcePattern(kind, name))


def _check(problems: Iterable[str]) -> None:
    if found := "; ".join(problems):
        raise KafkaError(f"the broker refused its users or their rights: {found}")
