"""What Airflow's scheduler and dag-processor import before they fork, so that no task and no parsed DAG file has to:
more than half of what a DAG file takes to be read. And how seldom all of Airflow looks for garbage.

Packages only. The project's own modules are read anew by each task, as long as nobody has restarted the scheduler.
"""

from __future__ import annotations

from stack.layout import Layout

PACKAGES = ("asgiref.sync", "kafka", "psycopg", "requests", "tenacity")
"""What the project's DAG files import, and Airflow's own start does not."""
FORKING = ("scheduler", "dag-processor")
"""Commands of Airflow whose process forks for each task, or for each DAG file."""
_TEXT = '''"""Written by ./kappa up: how Airflow looks for garbage, and what the processes need that it forks."""

import gc
import sys

__all__: list[str] = []

# By default at each 700 new objects: a seventh of what Airflow's start computes, and it makes next to no garbage.
gc.set_threshold(50_000, 10, 50)

if sys.argv[1:2] and sys.argv[1] in {forking!r}:
    import {packages}  # noqa: F401
'''


def text() -> str:
    """The module that Airflow imports as it starts."""
    return _TEXT.format(forking=FORKING, packages=", ".join(PACKAGES))


def write(layout: Layout) -> None:
    """Put it where each process of Airflow looks for it."""
    folder = layout.airflow / "config"
    folder.mkdir(exist_ok=True)
    (folder / "airflow_local_settings.py").write_text(text())
