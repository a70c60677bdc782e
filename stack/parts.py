"""All programs of the stack, in the order in which they are shown, and the order in which they stop."""

from __future__ import annotations

from stack import broker, cluster, control, postgres
from stack.layout import Layout
from stack.programs import Program

SPARK = (cluster.MASTER, cluster.WORKER)
AIRFLOW = (control.API, control.SCHEDULER, control.DAG_PROCESSOR, control.TRIGGERER)
STORES = (broker.NAME, postgres.NAME)
# What writes ends before what it writes to.
STOP_ORDER = ((*AIRFLOW, *SPARK), STORES)


def programs(layout: Layout) -> list[Program]:
    """Every program. Raises NoJava, NoUser."""
    java = cluster.java(layout)
    return [
        broker.program(layout, java),
        postgres.program(layout),
        *cluster.programs(layout, java),
        *control.programs(layout),
    ]
