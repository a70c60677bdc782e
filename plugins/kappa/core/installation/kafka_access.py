"""How each user reaches Kafka: addresses, encryption and the file of a password, in the words of three clients."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kappa.core.installation.addresses import ENCRYPTED_PROTOCOLS, Kafka
from kappa.core.refusals import Refusal

_SECURITY = "org.apache.kafka.common.security"
_LOGIN = {
    "PLAIN": f"{_SECURITY}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_SECURITY}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_SECURITY}.scram.ScramLoginModule",
}
FILE_PROVIDER = "org.apache.kafka.common.config.provider.FileConfigProvider"
"""Lets a Java client, or a broker, take `${file:PATH:KEY}` out of a properties file."""
MECHANISM, USERNAME, PASSWORD = "sasl.mechanism", "sasl.username", "sasl.password"


class KafkaUser(StrEnum):
    """Whom Kafka knows. Each has a password file of its own, which is named like it."""

    PRODUCER = "kafka_producer"
    """Writes the log."""
    STREAM = "kafka_stream"
    """The drivers: reads the log."""
    CONTROL = "kafka_control"
    """Airflow's tasks and the command: looks how far the log reaches, and when a record was appended."""
    READER = "kafka_reader"
    """The oracle, and anybody's own consumers: reads the log, in any consumer group."""
    ADMIN = "kafka_admin"
    """The embedded broker itself, which makes the topic and the other users."""


_READS = ("READ", "DESCRIBE", "DESCRIBE_CONFIGS")
RIGHTS = {
    KafkaUser.PRODUCER: ("WRITE", "DESCRIBE"),
    KafkaUser.STREAM: _READS,
    KafkaUser.CONTROL: _READS,
    KafkaUser.READER: _READS,
}
"""What each user must be allowed on the topic, and needs no more than: Kafka's names of operations. The reader needs
READ on the consumer groups that it reads in, too; the administrator may do anything."""


class UserUnknown(Refusal):
    """The password file of a user cannot be used."""

    def __init__(self, user: KafkaUser, file: Path, problem: str) -> None:
        super().__init__(
            f"Kafka's user {user}: {file} {problem}. It must have the lines {MECHANISM}=SCRAM-SHA-512, {USERNAME}=NAME "
            f"and {PASSWORD}=PASSWORD, and mode 0600; './kappa up' writes those of the embedded stack. Nothing was "
            "sent."
        )


@dataclass(frozen=True)
class KafkaAccess:
    """One user's way to Kafka. A password is read from its file whenever a client is made, and kept nowhere else."""

    server: Kafka
    user: KafkaUser
    file: Path

    @property
    def address(self) -> str:
        """Where Kafka is, as people write it."""
        return self.server.bootstrap

    def spark(self) -> dict[str, str]:
        """Options of Spark's source. They name the file: driver and executors take the password from it themselves, so
        that it is in no plan, page or log. Raises UserUnknown."""
        options = {"kafka.bootstrap.servers": self.address, "kafka.security.protocol": self.server.protocol}
        if self._trusted:
            options |= {"kafka.ssl.truststore.type": "PEM", "kafka.ssl.truststore.location": self._trusted}
        if not self.server.asks_who:
            return options
        mechanism = self._held()[MECHANISM]
        return options | {
            "kafka.sasl.mechanism": mechanism,
            "kafka.sasl.jaas.config": login(mechanism, self.file),
            "kafka.config.providers": "file",
            "kafka.config.providers.file.class": FILE_PROVIDER,
        }

    def kafka_python(self) -> dict[str, str]:
        """Arguments of kafka-python's clients. Raises UserUnknown."""
        given = {"bootstrap_servers": self.address, "security_protocol": self.server.protocol}
        if self._trusted:
            given["ssl_cafile"] = self._trusted
        if self.server.asks_who:
            held = self._held()
            given |= {"sasl_mechanism": held[MECHANISM], "sasl_plain_username": held[USERNAME]}
            given["sasl_plain_password"] = held[PASSWORD]
        return given

    def librdkafka(self) -> dict[str, str]:
        """Configuration of librdkafka's clients. Raises UserUnknown."""
        given = {"bootstrap.servers": self.address, "security.protocol": self.server.protocol}
        if self._trusted:
            given["ssl.ca.location"] = self._trusted
        return given | self._held() if self.server.asks_who else given

    @property
    def _trusted(self) -> str:
        """The file of the certificate authority; empty: those that the client finds by itself, or none is needed."""
        return self.server.ca if self.server.protocol in ENCRYPTED_PROTOCOLS else ""

    def _held(self) -> dict[str, str]:
        """Mechanism, name and password; other lines are for other clients. Raises UserUnknown."""
        try:
            lines = self.file.read_text().splitlines()
            mode = self.file.stat().st_mode & 0o777
        except OSError as error:
            raise UserUnknown(self.user, self.file, f"cannot be read ({error.strerror})") from error
        if mode & 0o077:
            raise UserUnknown(self.user, self.file, f"has mode {mode:04o}, so that others may read it")
        told = dict(line.split("=", 1) for line in lines if "=" in line)
        held = {name: told.get(name, "").strip() for name in (MECHANISM, USERNAME, PASSWORD)}
        if missing := [name for name, value in held.items() if not value]:
            raise UserUnknown(self.user, self.file, f"has no {', '.join(missing)}")
        if held[MECHANISM] not in _LOGIN:
            known = ", ".join(_LOGIN)
            raise UserUnknown(self.user, self.file, f"has {MECHANISM}={held[MECHANISM]}, not one of {known}")
        return held


def login(mechanism: str, file: Path) -> str:
    """How Java's clients sign in by what a file says, in the words of JAAS."""
    name, password = (f"${{file:{file}:{key}}}" for key in (USERNAME, PASSWORD))
    return f'{_LOGIN[mechanism]} required username="{name}" password="{password}";'
