"""The names and ports of the services of docker-compose.yml, and the folders that their containers see."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from kappa.core.refusals import Refusal

BROKERS = ("kafka-1", "kafka-2", "kafka-3")
POSTGRES = "postgres"
MASTER, WORKER = "spark-master", "spark-worker"
AIRFLOW_API = "airflow-api"
MONITOR, S3 = "monitor", "s3"
THREE_BROKERS = "three-brokers"
"""The profile that starts the second broker and the third; the one of the S3 server is called as that is."""

CLIENT_PORT, CONTROLLER_PORT, HOST_PORT = 9092, 9093, 19092
"""Of a broker: for the other containers, for the controllers, and for this machine, by a port on its loopback."""
POSTGRES_PORT = 5432
MASTER_PORT, REST_PORT, UI_PORT = 7077, 6066, 8080
AIRFLOW_PORT = 8080
MONITOR_PORT = 19100
S3_PORT = 9000

GIVEN = Path("/run/kappa")
"""Where a container sees what it is given: settings, secrets, certificates; of its own group only."""
STATE = Path("/kappa/state")
SHARED = Path("/kappa/shared")
CODE = Path("/opt/kappa")
JARS, S3_JARS = Path("/opt/jars/spark"), Path("/opt/jars/s3")
"""In the image of Airflow: the jars of Spark applications, which belong in the shared folder; those for a bucket."""


class Group(StrEnum):
    """Containers that are given the same: each group has a volume of its own, `given-NAME`."""

    BROKER = "kafka"
    POSTGRES = "postgres"
    MASTER = "spark-master"
    WORKER = "spark-worker"
    AIRFLOW = "airflow"
    STORES = "stores"
    """The init job that makes topic, users, roles and schema."""
    MONITOR = "monitor"
    S3 = "s3"


@dataclass(frozen=True)
class Chosen:
    """What a person chooses in `.env`: how many brokers, the shape of the topic, ports of this machine's loopback, of
    the brokers one each, who is told of what is wrong, as in `[alerts]`, and whether checkpoints lie in a bucket."""

    brokers: int = 1
    partitions: int = 6
    retention_hours: int = 168
    kafka_ports: tuple[int, ...] = (29092, 29093, 29094)
    postgres_port: int = 25432
    rest_port: int = 26066
    ui_port: int = 28080
    airflow_port: int = 28090
    monitor_port: int = 29100
    alert_targets: tuple[str, ...] = ()
    alert_quiet: str = ""
    alert_time_zone: str = "UTC"
    s3: bool = False
    s3_port: int = 29900


VARIABLES = {
    "brokers": "KAPPA_BROKERS",
    "partitions": "KAPPA_PARTITIONS",
    "retention_hours": "KAPPA_RETENTION_HOURS",
    "postgres_port": "KAPPA_POSTGRES_PORT",
    "rest_port": "KAPPA_SPARK_REST_PORT",
    "ui_port": "KAPPA_SPARK_UI_PORT",
    "airflow_port": "KAPPA_AIRFLOW_PORT",
    "monitor_port": "KAPPA_MONITOR_PORT",
    "alert_targets": "KAPPA_ALERT_TARGETS",
    "alert_quiet": "KAPPA_ALERT_QUIET",
    "alert_time_zone": "KAPPA_ALERT_TIME_ZONE",
    "s3": "KAPPA_S3",
    "s3_port": "KAPPA_S3_PORT",
}
"""The variables of `.env` by what they choose; the ports of the brokers are KAPPA_KAFKA_1_PORT and so on."""

PROFILES_VARIABLE, ALL_PROFILES = "COMPOSE_PROFILES", "*"
STARTED_BY = {"brokers": (THREE_BROKERS, len(BROKERS), 1), "s3": (S3, 1, 0)}
"""What starts a choice's containers: the profile, what the variable says with it, and what without it."""

Allowed = tuple[str, Container[int]]
YES_OR_NO: Allowed = ("1 for yes or 0 for no", (0, 1))
PORTS: Allowed = ("a port: a whole number from 1 to 65535", range(1, 65536))
NUMBERS: dict[str, Allowed] = {
    "brokers": ("1 or 3, the numbers of brokers that docker-compose.yml has", (1, len(BROKERS))),
    "partitions": ("a whole number of at least 1", range(1, 2**31)),
    "retention_hours": ("a whole number of at least 1", range(1, 2**31)),
}
"""What the numbers may be that are no ports, and how people are told."""


class InvalidChoice(Refusal):
    """A variable of `.env` does not say what it may."""

    def __init__(self, variable: str, text: str, rule: str) -> None:
        super().__init__(f"{variable}={text} in .env: it must be {rule}. Nothing was made. Correct it, then try again.")


class ProfilesDiffer(Refusal):
    """The profiles of `.env` start other containers than another variable there is about."""

    def __init__(self, variable: str, value: int, other: int, profiles: str, right: str) -> None:
        super().__init__(
            f"{variable}={value} and COMPOSE_PROFILES={profiles} in .env: the first says what the containers are told, "
            "the second which of them are started, and those two differ, so that some would wait for others for ever. "
            f"Nothing was made. Write {PROFILES_VARIABLE}={right}, or {variable}={other}, then try again."
        )


def chosen(environment: Mapping[str, str]) -> Chosen:
    """What the variables say; what they do not say is as by default. Raises InvalidChoice, ProfilesDiffer."""
    told = {name: _value(name, key, environment[key]) for name, key in VARIABLES.items() if environment.get(key)}
    ports = [_broker_port(environment, n, port) for n, port in enumerate(Chosen.kafka_ports, 1)]
    choice = Chosen(kafka_ports=tuple(ports), **told)
    _check_profiles(choice, environment.get(PROFILES_VARIABLE, ""))
    return choice


def _check_profiles(choice: Chosen, text: str) -> None:
    """What is told to the containers is about those that are started. Raises ProfilesDiffer."""
    profiles = [profile for each in text.split(",") if (profile := each.strip())]
    for name, (profile, with_it, without) in STARTED_BY.items():
        value, started = int(getattr(choice, name)), bool({profile, ALL_PROFILES} & set(profiles))
        if value != (other := with_it if started else without):
            left = [each for each in profiles if each not in (profile, ALL_PROFILES)]
            raise ProfilesDiffer(VARIABLES[name], value, other, text, ",".join(left if started else [*left, profile]))


def _broker_port(environment: Mapping[str, str], number: int, usual: int) -> int:
    variable = broker_variable(number)
    text = environment.get(variable)
    return _number(variable, text, PORTS) if text else usual


def _value(name: str, variable: str, text: str) -> Any:
    """What a variable says, of the type that its choice has by default: names parted by commas, 1 for yes."""
    usual = getattr(Chosen, name)
    if isinstance(usual, bool):
        return bool(_number(variable, text, YES_OR_NO))
    if isinstance(usual, int):
        return _number(variable, text, NUMBERS.get(name, PORTS))
    return tuple(text.replace(",", " ").split()) if isinstance(usual, tuple) else text


def _number(variable: str, text: str, allowed: Allowed) -> int:
    rule, numbers = allowed
    if text.isascii() and text.isdigit() and int(text) in numbers:
        return int(text)
    raise InvalidChoice(variable, text, rule)


def broker_variable(number: int) -> str:
    """The variable with the port of a broker on this machine."""
    return f"KAPPA_KAFKA_{number}_PORT"
