"""What the embedded stack alone is told: its ports on loopback, and what its Spark worker offers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ports:
    """Loopback ports of the embedded stack."""

    kafka: int = 19092
    kafka_controller: int = 19093
    postgres: int = 15432
    spark_master: int = 17077
    spark_rest: int = 16066
    spark_ui: int = 18080
    spark_worker: int = 17078
    spark_worker_ui: int = 18081
    airflow: int = 18090
    monitor: int = 19100


@dataclass(frozen=True)
class Cluster:
    """What the embedded Spark worker offers; it may offer more cores than the machine has."""

    worker_cores: int = 8
    worker_memory_mb: int = 8192
