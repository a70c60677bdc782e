"""A broker that speaks TLS, as one elsewhere does, with a certificate authority of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from kappa.core.installation.addresses import Kafka
from kappa.core.installation.settings import Settings
from stack.layout import Layout
from stack.services import kafka, kafka_users, spark
from stack.supervision import Supervisor
from stack.waiting import until
from tests.rigs import small_stack
from tests.rigs.certificates import certify

LISTENER = "TLS"


@contextmanager
def tls_broker(partitions: int) -> Iterator[Settings]:
    """The settings by which the broker is reached with TLS; it is ended and deleted afterwards."""
    with small_stack.folder(partitions) as layout:
        small_stack.prepare(layout)
        java = spark.java(layout)
        kafka.prepare(layout, java)
        tls = Kafka(f"localhost:{small_stack.free_ports(1)[0]}", "SASL_SSL", str(certify(layout.kafka / LISTENER, [])))
        _listen(layout, tls)
        supervisor = Supervisor(layout)
        supervisor.start([kafka.program(layout, java)])
        supervisor.begin([kafka.NAME])
        assert until(lambda: kafka.healthy(layout.settings), small_stack.PATIENCE_SECONDS)
        kafka.ensure_topic(layout.settings)
        yield replace(layout.settings, kafka=tls)


def _listen(layout: Layout, tls: Kafka) -> None:
    """One listener more: clients sign in there as at the other one."""
    file = layout.kafka / "server.properties"
    held = dict(line.split("=", 1) for line in file.read_text().splitlines())
    for name in ("listeners", "advertised.listeners"):
        held[name] += f",{LISTENER}://{tls.bootstrap}"
    held["listener.security.protocol.map"] += f",{LISTENER}:SASL_SSL"
    prefix, scram = f"listener.name.{LISTENER.lower()}", kafka_users.SCRAM
    held |= {
        f"{prefix}.sasl.enabled.mechanisms": scram,
        f"{prefix}.{scram.lower()}.sasl.jaas.config": held[
            f"listener.name.{kafka_users.CLIENT.lower()}.{scram.lower()}.sasl.jaas.config"
        ],
        f"{prefix}.ssl.keystore.type": "PEM",
        f"{prefix}.ssl.keystore.location": str(layout.kafka / LISTENER / "host.both.pem"),
    }
    file.write_text("".join(f"{name}={value}\n" for name, value in held.items()))
