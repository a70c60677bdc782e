"""Airflow's home for the DAG tests: a throw-away folder, named before Airflow is first imported."""

from __future__ import annotations

import os
import tempfile

os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="kappa-airflow-test-")
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
os.environ["AIRFLOW__CORE__UNIT_TEST_MODE"] = "True"
