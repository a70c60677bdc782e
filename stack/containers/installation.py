"""The installation file of the containers and that of this machine: the same but for addresses and places."""

from __future__ import annotations

import json
from dataclasses import dataclass

from stack.containers import bucket, names
from stack.containers.names import Chosen

CA = "ca.pem"
_TEXT = """\
# Written by docker compose: the installation {of}.
[kafka]
bootstrap = "{bootstrap}"
ca = "{secrets}/{ca}"
[postgres]
host = "{postgres}"
port = {postgres_port}
sslrootcert = "{secrets}/{ca}"
[spark]
master = "spark://{master}:{master_port}"
rest = ["{rest}"]
ui = ["{ui}"]
allow_plain = true
[airflow]
url = "{airflow}"
allow_plain = true
[places]
shared = "{shared}"
secrets = "{secrets}"
{store}[metrics]
url = "{monitor}"
[alerts]
targets = {alert_targets}
quiet = "{alert_quiet}"
time_zone = "{alert_time_zone}"
[topic]
partitions = {partitions}
retention_hours = {retention_hours}
"""


@dataclass(frozen=True)
class Addresses:
    """How the parts are reached from somewhere, and where files are there; `store` are the lines that name a bucket."""

    of: str
    bootstrap: str
    postgres: str
    postgres_port: int
    rest: str
    ui: str
    airflow: str
    monitor: str
    shared: str
    secrets: str
    store: str


def inside(chosen: Chosen) -> Addresses:
    """From the containers, by the names of the services; none of them asks for the monitor."""
    return Addresses(
        "as the containers see it",
        ",".join(f"{broker}:{names.CLIENT_PORT}" for broker in names.BROKERS[: chosen.brokers]),
        names.POSTGRES,
        names.POSTGRES_PORT,
        f"http://{names.MASTER}:{names.REST_PORT}",
        f"http://{names.MASTER}:{names.UI_PORT}",
        f"http://{names.AIRFLOW_API}:{names.AIRFLOW_PORT}",
        "",
        str(names.SHARED),
        str(names.GIVEN),
        f"{_store(f'http://{names.S3}:{names.S3_PORT}')}allow_plain = true\n" if chosen.s3 else "",
    )


def outside(chosen: Chosen) -> Addresses:
    """From this machine, by ports of its loopback; places are beside the file."""
    return Addresses(
        "as this machine sees it, for ./kappa --target compose",
        ",".join(f"localhost:{port}" for port in chosen.kafka_ports[: chosen.brokers]),
        "localhost",
        chosen.postgres_port,
        f"http://127.0.0.1:{chosen.rest_port}",
        f"http://127.0.0.1:{chosen.ui_port}",
        f"http://127.0.0.1:{chosen.airflow_port}",
        f"http://127.0.0.1:{chosen.monitor_port}",
        "./shared",
        "./secrets",
        _store(f"http://127.0.0.1:{chosen.s3_port}") if chosen.s3 else "",
    )


def _store(endpoint: str) -> str:
    return f'store = "{bucket.setting(endpoint)}"\n'


def text(addresses: Addresses, chosen: Chosen) -> str:
    """kappa.toml. The master is named as drivers find it, who run in containers whoever asks for them."""
    return _TEXT.format(
        **vars(addresses), ca=CA, master=names.MASTER, master_port=names.MASTER_PORT, partitions=chosen.partitions,
        retention_hours=chosen.retention_hours, alert_targets=json.dumps(chosen.alert_targets),
        alert_quiet=chosen.alert_quiet, alert_time_zone=chosen.alert_time_zone,
    )  # fmt: skip
