"""All programs of the stack, in the order in which they are shown, and the order in which they stop."""

from __future__ import annotations

from stack.layout import Layout
from stack.programs import Program
from stack.services import airflow, kafka, monitor, postgres, spark

SPARK = (spark.MASTER, spark.WORKER)
AIRFLOW = (airflow.API, airflow.SCHEDULER, airflow.DAG_PROCESSOR, airflow.TRIGGERER)
STORES = (kafka.NAME, postgres.NAME)
# What watches is asked first, so that nobody is told of an end that is wanted; what writes before what it writes to.
STOP_ORDER = ((monitor.NAME, *AIRFLOW, *SPARK), STORES)


def programs(layout: Layout) -> list[Program]:
    """Every program. Raises NoJava, Refusal (no user for Postgres)."""
    java = spark.java(layout)
    return [
        kafka.program(layout, java),
        postgres.program(layout),
        *spark.programs(layout, java),
        *airflow.programs(layout),
        monitor.program(layout),
    ]
