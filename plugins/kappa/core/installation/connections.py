"""What Airflow's connections say of where the parts of an installation are: addresses, never a password."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Protocol

from kappa.core.refusals import Refusal

VARIABLE = "KAPPA_CONNECTIONS"
"""`true` in the environment of Airflow's processes: addresses that no file names are those of these connections."""
POSTGRES, KAFKA, SPARK, SPARK_REST = "kappa_postgres", "kafka_default", "spark_default", "kappa_spark_rest"
AIRFLOW = "kappa_airflow"
NAMES = (POSTGRES, KAFKA, SPARK, SPARK_REST, AIRFLOW)


class NoConnections(Refusal):
    """Addresses are to be taken from Airflow's connections, and it has none of them."""

    def __init__(self) -> None:
        super().__init__(
            f"{VARIABLE} is true, but Airflow has none of the connections {', '.join(NAMES)}. Add them "
            "(docs/own_airflow.md), or name the addresses in the file of KAPPA_SETTINGS. Nothing was contacted."
        )


class Connection(Protocol):
    """What is read of a connection of Airflow."""

    host: str | None
    port: int | None
    schema: str | None

    @property
    def extra_dejson(self) -> dict[str, Any]:
        """Its extra fields."""


def are_read(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether addresses are to be taken from Airflow's connections."""
    return environment.get(VARIABLE, "").lower() == "true"


def tables(found: Mapping[str, Connection | None]) -> dict[str, Any]:
    """Settings as a file has them, of the connections that there are. `kappa_postgres`: host, port, schema (the
    database), extra `sslmode`, `sslrootcert`; `kafka_default`: extra `bootstrap.servers`, `security.protocol`,
    `ssl.ca.location`; `spark_default`: host and port; `kappa_spark_rest`: extra `rest` and `ui`, each a list with one
    URL for each master; `kappa_airflow`: host. Logins and passwords are not looked at: each role has a file.

    Raises NoConnections.
    """
    if not any(found.values()):
        raise NoConnections
    told: dict[str, Any] = {}
    if postgres := found.get(POSTGRES):
        told |= {"database": postgres.schema} if postgres.schema else {}
        told["postgres"] = _some({"host": postgres.host, "port": postgres.port, **_extra(postgres, _OF_POSTGRES)})
    if kafka := found.get(KAFKA):
        told["kafka"] = _extra(kafka, _OF_KAFKA)
    spark = {"master": _master(found.get(SPARK))}
    if rest := found.get(SPARK_REST):
        spark |= _extra(rest, {"rest": "rest", "ui": "ui"})
    told["spark"] = _some(spark)
    if (airflow := found.get(AIRFLOW)) and "://" in (airflow.host or ""):
        told["airflow"] = {"url": airflow.host if airflow.port is None else f"{airflow.host}:{airflow.port}"}
    return told


_OF_POSTGRES = {"sslmode": "sslmode", "sslrootcert": "sslrootcert"}
_OF_KAFKA = {"bootstrap.servers": "bootstrap", "security.protocol": "protocol", "ssl.ca.location": "ca"}


def _extra(connection: Connection, names: Mapping[str, str]) -> dict[str, Any]:
    said = connection.extra_dejson
    return {setting: said[name] for name, setting in names.items() if name in said}


def _master(spark: Connection | None) -> str | None:
    """Several masters stand in the host, with commas, and the connection has no port then."""
    if spark is None or not spark.host:
        return None
    host = spark.host if spark.host.startswith("spark://") else f"spark://{spark.host}"
    return host if spark.port is None else f"{host}:{spark.port}"


def _some(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
