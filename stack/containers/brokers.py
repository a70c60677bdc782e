"""The configuration of a broker in a container, which is a controller, too: three listeners, each of them over TLS."""

from __future__ import annotations

from pathlib import Path

from kappa.core.installation.settings import Settings
from stack.containers import names
from stack.containers.installation import CA
from stack.containers.names import Chosen
from stack.services import kafka, kafka_users
from stack.services.kafka_users import CLIENT, CONTROLLER

HOST = "HOST"
"""The listener for this machine, the administrator included, as on the embedded stack: what it is advertised as is a
port of the loopback."""
DATA = Path("/var/lib/kappa/data")
KEY = "kafka.both.pem"


def properties(settings: Settings, chosen: Chosen, number: int) -> str:
    """server.properties of one broker; `settings` are those of the containers."""
    brokers, name = names.BROKERS[: chosen.brokers], names.BROKERS[number - 1]
    ports = {CLIENT: names.CLIENT_PORT, HOST: names.HOST_PORT, CONTROLLER: names.CONTROLLER_PORT}
    users = kafka_users.properties(settings)
    values = {
        "process.roles": "broker,controller",
        "node.id": number,
        "controller.quorum.voters": ",".join(
            f"{n}@{broker}:{names.CONTROLLER_PORT}" for n, broker in enumerate(brokers, 1)
        ),
        "controller.listener.names": CONTROLLER,
        "listeners": ",".join(f"{listener}://:{port}" for listener, port in ports.items()),
        "advertised.listeners": f"{CLIENT}://{name}:{names.CLIENT_PORT},"
        f"{HOST}://localhost:{chosen.kafka_ports[number - 1]}",
        **users,
        **_like(users, CLIENT, HOST),
        "listener.security.protocol.map": ",".join(f"{listener}:SASL_SSL" for listener in ports),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": names.GIVEN / KEY,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": names.GIVEN / CA,
        "log.dirs": DATA,
        **kafka.own_topics(chosen.brokers),
        **kafka.SMALL,
        "min.insync.replicas": min(chosen.brokers, 2),
        "default.replication.factor": chosen.brokers,
    }
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _like(users: dict[str, str], listener: str, other: str) -> dict[str, str]:
    """How clients sign in at another listener: as at this one."""
    prefix = f"listener.name.{listener.lower()}."
    return {
        key.replace(prefix, f"listener.name.{other.lower()}."): value
        for key, value in users.items()
        if key.startswith(prefix)
    }
