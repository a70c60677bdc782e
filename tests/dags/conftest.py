"""Airflow's home for these tests: a throw-away folder, named before Airflow is first imported."""

import tests.rigs.airflow_home  # noqa: F401
