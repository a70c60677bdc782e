"""The DAG files read nothing but code: no settings file, no artifact, so that a build makes no new version of a DAG;
and the packages that they import are there already where Airflow forks for each of them, and for each task."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tests.rigs.airflow_home  # noqa: F401
from kappa.core.installation.settings import Settings
from stack.layout import Layout
from stack.services import airflow_imports

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import json, os, sys
sys.argv[1:1] = ["dag-processor"]
from airflow.dag_processing.dagbag import DagBag
from airflow.executors import local_executor
from airflow.jobs import scheduler_job_runner
from airflow.serialization.serialized_objects import DagSerialization
place, seen = os.path.dirname(os.environ["KAPPA_HOME"]), []

def look(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith(place):
        seen.append(f"{event} {arguments[0]}")

sys.addaudithook(look)
there = {name.partition(".")[0] for name in sys.modules} | sys.stdlib_module_names
bag = DagBag(sys.argv[2])
new = sorted({name.partition(".")[0] for name in sys.modules if not name.startswith("unusual_prefix_")} - there)
dags = {name: DagSerialization.to_dict(dag)["dag"] for name, dag in sorted(bag.dags.items())}
crons = str([dags[name]["timetable"] for name in ("prove_replay", "validate_live")])
told = {"errors": bag.import_errors, "dags": sorted(dags), "seen": seen, "cron": crons, "new": new}
print(json.dumps(told, default=str))
"""


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What became of all DAG files in a process that is forked from as Airflow's dag-processor is."""
    folder = tmp_path_factory.mktemp("parsing")
    home = folder / "state"
    (home / "artifacts" / "0123456789ab").mkdir(parents=True)
    (folder / "kappa.toml").write_text("[releases]\nrollback_minutes = 7\n")
    elsewhere = Layout(Settings(home=tmp_path_factory.mktemp("airflow")), ROOT)
    elsewhere.airflow.mkdir()
    airflow_imports.write(elsewhere)
    given = {
        "KAPPA_HOME": str(home),
        "KAPPA__RELEASES__PROVE_CRON": "1 2 3 4 5",
        "KAPPA__RELEASES__VALIDATE_CRON": "5 4 3 2 1",
        "AIRFLOW_HOME": str(elsewhere.airflow),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT / "dags")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")]), **given},
        capture_output=True, text=True, timeout=500, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["errors"] == {}
    assert len(found["dags"]) == 12
    return found


def test_no_dag_file_looks_at_the_settings_or_into_the_state_folder(parsed: dict[str, Any]) -> None:
    assert parsed["seen"] == []
    assert "1 2 3 4 5" in parsed["cron"]
    assert "5 4 3 2 1" in parsed["cron"]


def test_no_dag_file_imports_a_package_that_the_process_it_is_forked_from_has_not(parsed: dict[str, Any]) -> None:
    assert parsed["new"] == ["kappa"]


@pytest.mark.parametrize(("command", "imported"), [("scheduler", True), ("api-server", False)])
def test_only_what_forks_imports_packages_and_all_seldom_look_for_garbage(command: str, imported: bool) -> None:
    asked = f"{airflow_imports.text()}\nprint('kafka' in sys.modules, gc.get_threshold()[0])"
    done = subprocess.run(
        [sys.executable, "-c", asked, command], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.split() == [str(imported), "50000"]
