"""Addresses from Airflow's connections: which field is which setting, and what counts more."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kappa.core.installation import connections
from kappa.core.installation.addresses import MissingAddress, PlainAddress
from kappa.core.installation.connections import Connection, NoConnections, tables
from kappa.core.installation.settings import load


@dataclass
class Said:
    """A connection of Airflow."""

    host: str | None = None
    port: int | None = None
    schema: str | None = None
    extra_dejson: dict[str, Any] = field(default_factory=dict)


def said() -> dict[str, Connection | None]:
    """All of them."""
    kafka = {"bootstrap.servers": "k1:9093,k2:9093", "security.protocol": "SASL_SSL", "ssl.ca.location": "/ca.pem"}
    return {
        connections.POSTGRES: Said("pg", 6432, "ads", {"sslmode": "verify-ca", "sslrootcert": "/pg.pem", "other": 1}),
        connections.KAFKA: Said(extra_dejson={**kafka, "group.id": "theirs"}),
        connections.SPARK: Said("m1:7077,m2:7077"),
        connections.SPARK_REST: Said(
            extra_dejson={"rest": ["https://m1:6066", "https://m2:6066"], "ui": ["https://m1", "https://m2"]}
        ),
        connections.AIRFLOW: Said("https://airflow", 8443),
    }


def test_each_connection_says_where_its_part_is(tmp_path: Path) -> None:
    settings = load(tmp_path / "state", {}, tables(said()))
    assert settings.database == "ads"
    assert settings.postgres.parameters() == {
        "host": "pg", "port": "6432", "sslmode": "verify-ca", "sslrootcert": "/pg.pem",
    }  # fmt: skip
    assert (settings.kafka.bootstrap, settings.kafka.protocol, settings.kafka.ca) == (
        "k1:9093,k2:9093", "SASL_SSL", "/ca.pem",
    )  # fmt: skip
    assert settings.spark_master == "spark://m1:7077,m2:7077"
    assert (settings.spark_rest[1], settings.spark_ui[1]) == ("https://m2:6066", "https://m2")
    assert settings.airflow_url == "https://airflow:8443"


def test_a_file_counts_more_than_a_connection(tmp_path: Path) -> None:
    (tmp_path / "kappa.toml").write_text('[postgres]\nhost = "nearer"\n')
    assert load(tmp_path / "state", {}, tables(said())).database_address == "nearer:6432"


def test_a_connection_that_is_missing_is_an_address_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingAddress, match=r"not kafka\.bootstrap"):
        load(tmp_path / "state", {}, tables({**said(), connections.KAFKA: None}))
    with pytest.raises(NoConnections):
        tables(dict.fromkeys(connections.NAMES))


def test_a_plain_address_in_a_connection_is_refused_as_in_a_file(tmp_path: Path) -> None:
    plain = {**said(), connections.POSTGRES: Said("pg", extra_dejson={"sslmode": "prefer"})}
    with pytest.raises(PlainAddress, match=r"postgres\.sslmode = 'prefer'"):
        load(tmp_path / "state", {}, tables(plain))


def test_a_master_with_a_port_of_its_own_is_one_address() -> None:
    assert tables({connections.SPARK: Said("m1", 7077)})["spark"] == {"master": "spark://m1:7077"}
    assert tables({connections.SPARK: Said("spark://m1", 7077)})["spark"] == {"master": "spark://m1:7077"}
