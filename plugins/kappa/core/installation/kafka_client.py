"""A client of kafka-python that was let in, or an error that says what kept it out."""

from __future__ import annotations

import logging
import socket
from typing import Any, TypeVar

from kafka import KafkaAdminClient, KafkaConsumer
from kafka.errors import KafkaTimeoutError

from kappa.core.installation.kafka_access import KafkaAccess

logging.getLogger("kafka").setLevel(logging.WARNING)
"""kafka-python tells of each connection that it opens and closes, among the lines of who waits for hours."""
logging.getLogger("kafka.net.sasl").setLevel(logging.ERROR)
"""It warns of each password that goes over a connection without TLS: the settings refuse what leaves this machine
so."""
logging.getLogger("kafka.net.selector").setLevel(logging.ERROR)
"""It warns of each step of its own that took a tenth of a second, as any does on a busy machine."""

HOST_THAT_IS_GONE = {"socket_connection_setup_timeout_ms": 1_500, "socket_connection_setup_timeout_max_ms": 10_000}
"""A connection that nobody answers is given up after 10 s by default, and another broker is asked only then. The time
counts until the broker has let the client in, and doubles from the third attempt on. Consumers and admin clients know
no such settings: the client beneath them does."""

QUICKLY = 0.3
"""So many seconds each broker has to take a connection before a client is made: a driver that asks whether it may
commit waits for them, and where none is in time the client itself finds one."""

_C = TypeVar("_C", KafkaConsumer, KafkaAdminClient)


class NotLetInError(KafkaTimeoutError):  # type: ignore[misc]
    """The broker listens, and closes each connection: to kafka-python a wrong password looks like nothing else."""

    def __init__(self, access: KafkaAccess, listening: str) -> None:
        super().__init__(
            f"{listening} listens, but does not let {access.user} in by {access.server.protocol}: "
            f"is what {access.file} says right, and the protocol?"
        )


def connected(access: KafkaAccess, make: type[_C], **settings: Any) -> _C:
    """A client of the brokers that listen now: kafka-python takes one of those it is told at random, and gives it all
    the time that there is, also if its host is lost. A client that finds no broker is ended: kafka-python would leave
    it asking for ever, on a thread of its own, with nobody who could close it. Raises NotLetInError, UserUnknown,
    KafkaError."""
    begun: list[Any] = []
    told = access.kafka_python()
    if "," in access.address:
        told["bootstrap_servers"] = ",".join(listening(access.address, QUICKLY)) or access.address

    def connect(**given: Any) -> Any:
        begun.append(make.DEFAULT_CONFIG["kafka_client"](**given, **HOST_THAT_IS_GONE))
        return begun[-1]

    try:
        return make(kafka_client=connect, **told, **settings)
    except BaseException as error:
        for client in begun:
            client.close()
        if isinstance(error, KafkaTimeoutError) and (found := listening(access.address)):
            raise NotLetInError(access, ",".join(found)) from error
        raise


def listening(addresses: str, seconds: float = 1.0) -> list[str]:
    """Those of the addresses, which stand side by side with commas, at which somebody takes a connection now, within so
    many seconds."""
    return [address for address in addresses.split(",") if _listens(address, seconds)]


def _listens(address: str, seconds: float) -> bool:
    host, _, port = address.strip().rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), seconds).close()
    except (OSError, ValueError):
        return False
    return True
