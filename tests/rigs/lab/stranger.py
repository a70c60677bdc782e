"""Somebody on a host of a lab who may not do what he asks for, at every door, and what he is told:
`python -m tests.rigs.lab.stranger [ADDRESS ...]` prints a list of what was said. Addresses are those of Spark's
servers: of pages with http:// before them, of processes that speak to one another without."""

from __future__ import annotations

import json
import os
import re
import socket
import ssl
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import psycopg
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from cli.entry import CHECKOUT
from kappa.core.installation import kafka_access
from kappa.core.installation.kafka_access import MECHANISM, PASSWORD, KafkaUser
from kappa.core.installation.settings import Settings, from_environment
from kappa.signed_requests import bearer, signature
from stack.services import certificates
from tests.rigs.lab.parts import BROKERS, ELECTION, ELECTION_PORT

LET_IN = "let in"
SECONDS = 20
WRONG, WRONG_KEY = "a-wrong-one", "d3Jvbmct" * 6
_FRAME = ">QBQI"
RPC_REQUEST, RPC_FAILURE, RPC_NUMBER = 3, 5, 77
"""Of Spark's transport: a message is its length (of all), its kind, a number, the length of the rest, and the rest."""
FORBIDDEN = {
    "kappa_reader": ("select * from registry.heartbeat", "create table serving.mine ()"),
    "kappa_operator": ("delete from registry.heartbeat", "update data.ad_ctr_minute set clicks = 0"),
    "kappa_writer": ("drop table data.ad_ctr_minute", "delete from registry.release"),
    "kappa_registry": ("drop table registry.heartbeat", "update data.ad_ctr_minute set clicks = 0"),
    "kappa_owner": ("create role stranger", "alter role kappa_owner superuser"),
}
"""By role of Postgres what another one may do, or nobody."""


@dataclass(frozen=True)
class Knock:
    """Somebody at a door; `expected` is a pattern of what he is told."""

    door: str
    who: str
    expected: str
    ask: Callable[[], object]

    def told(self) -> tuple[str, str, str, str]:
        """Door, who, what is expected, and what was said: the first line of it."""
        try:
            self.ask()
        except (KafkaException, psycopg.Error, OSError) as error:
            return self.door, self.who, self.expected, f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
        return self.door, self.who, self.expected, LET_IN


def kafka(settings: Settings, other: Path) -> Iterator[Knock]:
    """A broker and a controller, to who has no name, a wrong password, or none that the controller knows."""
    known, door = settings.kafka_access(KafkaUser.PRODUCER).librdkafka(), "Kafka, a broker"
    closed = "Disconnected|brokers are down"
    ca = {"ssl.ca.location": known["ssl.ca.location"]}
    plain = {"bootstrap.servers": f"{BROKERS[0]}:9092"}
    encrypted = {**plain, **ca, "security.protocol": "SSL"}
    yield Knock(door, "nobody, in the clear", closed, partial(_listed, plain))
    yield Knock(door, "nobody, encrypted", closed, partial(_listed, encrypted))
    wrong = {**known, **plain, PASSWORD: WRONG}
    yield Knock(door, "a wrong password", "Authentication failed", partial(_listed, wrong))
    trusting = {**known, **plain, "ssl.ca.location": str(other / "ca.pem")}
    yield Knock(door, "who trusts another authority", "certificate verify failed", partial(_listed, trusting))
    controller = {**known, "bootstrap.servers": f"{BROKERS[0]}:9093", MECHANISM: "PLAIN"}
    yield Knock("Kafka, a controller", "a producer", "Authentication failed", partial(_listed, controller))


def kafka_users(settings: Settings, _: Path) -> Iterator[Knock]:
    """Users of Kafka that do what another one may, or none."""
    refused, topic = "Topic authorization failed", settings.topic.name
    given = {user: settings.kafka_access(user).librdkafka() for user in kafka_access.RIGHTS}
    for user in (KafkaUser.READER, KafkaUser.STREAM, KafkaUser.CONTROL):
        yield Knock("Kafka, an append", user, refused, partial(_appended, given[user], topic))
    writer = KafkaUser.PRODUCER
    yield Knock("Kafka, a read", writer, "authorization failed", partial(_read, given[writer], topic))
    for user in given:
        yield Knock("Kafka, the topic's end", user, refused, partial(_deleted, given[user], topic))


def postgres(settings: Settings, other: Path) -> Iterator[Knock]:
    """Postgres, to who has no password or a wrong one, and to roles that do what another one may."""
    dsn, held = settings.dsn("kappa_reader"), str(settings.passfile("kappa_reader"))
    (other / "wrong").write_text(f"*:*:*:*:{WRONG}\n")
    (other / "wrong").chmod(0o600)
    for who, expected, changed, to in (
        ("nobody, in the clear", "no encryption", "sslmode=verify-full", "sslmode=disable"),
        ("nobody, encrypted", "no password supplied", held, str(other / "none")),
        ("a wrong password", "password authentication failed", held, str(other / "wrong")),
        ("who trusts another authority", "verify failed", settings.postgres.sslrootcert, str(other / "ca.pem")),
    ):
        yield Knock("Postgres", who, expected, partial(_connected, dsn.replace(changed, to)))
    for role, statements in FORBIDDEN.items():
        for each in statements:
            yield Knock(
                f"Postgres, {each}", role, "permission denied|must be owner",
                partial(_connected, settings.dsn(role), each),
            )  # fmt: skip


def election(settings: Settings, other: Path) -> Iterator[Knock]:
    """ZooKeeper: what masters keep there says what drivers run."""
    refused, trusted = "certificate.required|bad.certificate|unknown.ca|certificate.unknown", settings.kafka.ca
    nobody = ssl.create_default_context(cafile=trusted)
    stranger = ssl.create_default_context(cafile=trusted)
    stranger.load_cert_chain(other / "host.pem", other / "host.key")
    yield Knock("ZooKeeper", "nobody, in the clear", "closed", partial(_written, None))
    yield Knock("ZooKeeper", "nobody, encrypted", refused, partial(_written, nobody))
    yield Knock("ZooKeeper", "who has another authority's certificate", refused, partial(_written, stranger))


def spark(settings: Settings, addresses: list[str]) -> Iterator[Knock]:
    """Pages and submissions, to nobody and to other keys than their own; processes, to who does not know their
    secret."""
    wrong = {"Authorization": f"Bearer {bearer(WRONG_KEY, time.time())}"}
    others = signature(settings.spark_key, of_worker=True)
    for address in addresses:
        if not address.startswith("http"):
            yield Knock(f"Spark, {address}", "nobody", "Unknown challenge", partial(_called, address))
            continue
        knocks = {"nobody": {}, "a wrong key": wrong}
        # What signs requests to workers' pages starts no driver, and what signs those to masters opens no worker's.
        knocks["the other hosts' key"] = signature(settings.spark_key) if ":8081" in address else others
        for who, headers in knocks.items():
            yield Knock(f"Spark, {address}", who, "Error 403", partial(_page, address, headers))


def _listed(given: Mapping[str, str]) -> None:
    """Ask a broker for its topics. Raises PermissionError, with what it said first."""
    said: list[str] = []
    client = Producer({**given, "log_level": 0, "error_cb": lambda error: said.append(error.str())})
    try:
        client.list_topics(timeout=SECONDS / 2)
    except KafkaException as error:
        client.poll(1.0)
        words = [each for each in said if not each.endswith("brokers are down")]
        raise PermissionError([*words, *said, error.args[0].str()][0]) from error


def _appended(given: Mapping[str, str], topic: str) -> None:
    failed: list[KafkaError] = []
    producer = Producer({**given, "log_level": 0, "message.timeout.ms": SECONDS * 1000})
    producer.produce(topic, b"{}", on_delivery=lambda error, _: failed.append(error) if error else None)
    producer.flush(SECONDS)
    if failed:
        raise PermissionError(failed[0].str())


def _read(given: Mapping[str, str], topic: str) -> None:
    with closing(Consumer({**given, "log_level": 0, "group.id": "stranger"})) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        message = consumer.poll(SECONDS)
        if message is None or message.error():
            raise PermissionError(message.error().str() if message else "nothing came")


def _deleted(given: Mapping[str, str], topic: str) -> None:
    client = AdminClient({**given, "log_level": 0})
    client.delete_topics([topic], request_timeout=SECONDS)[topic].result()


def _connected(dsn: str, statement: str = "select 1") -> None:
    with psycopg.connect(dsn, connect_timeout=SECONDS) as connection:
        connection.execute(statement)


def _written(context: ssl.SSLContext | None) -> None:
    """Send something to ZooKeeper and wait for an answer. Raises PermissionError, SSLError."""
    with socket.create_connection((ELECTION, ELECTION_PORT), SECONDS) as plain:
        speaking = context.wrap_socket(plain, server_hostname=ELECTION) if context else plain
        speaking.sendall(b"ruok")
        if not speaking.recv(64):
            raise PermissionError("closed without a word")


def _page(address: str, headers: Mapping[str, str]) -> None:
    """Ask for a page, or for a driver where submissions are taken. Raises PermissionError."""
    method = "POST" if address.endswith("/create") else "GET"
    answer = httpx.request(method, address, headers=headers, timeout=SECONDS, trust_env=False)
    if answer.is_error:
        raise PermissionError(" ".join((re.findall("<title>(.*)</title>", answer.text) or [answer.text])[0].split()))


def _called(address: str) -> None:
    """Send a process of Spark a request. Raises PermissionError."""
    host, port = address.split(":")
    body = b"a stranger's"
    with socket.create_connection((host, int(port)), SECONDS) as speaking:
        speaking.sendall(
            struct.pack(_FRAME, struct.calcsize(_FRAME) + len(body), RPC_REQUEST, RPC_NUMBER, len(body)) + body
        )
        answers = speaking.makefile("rb")
        head = answers.read(struct.calcsize(_FRAME))
        if not head:
            raise PermissionError("closed without a word")
        _, kind, _, size = struct.unpack(_FRAME, head)
        said = answers.read(size)
    if kind == RPC_FAILURE:
        raise PermissionError(said.decode(errors="replace"))


def main(addresses: list[str]) -> None:
    """Print what is said at all doors."""
    settings = from_environment(CHECKOUT, os.environ)
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder)
        certificates.ensure(other, "host", ["localhost"], 2)
        services = (kafka, kafka_users, postgres, election)
        knocks = [knock for service in services for knock in service(settings, other)]
        print(json.dumps([knock.told() for knock in [*knocks, *spark(settings, addresses)]]))


if __name__ == "__main__":
    main(sys.argv[1:])
