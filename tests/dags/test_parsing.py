"""The DAG files read nothing but code: no settings file, no artifact, so that a build makes no new version of a DAG."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import tests.rigs.airflow_home  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import json, os, sys
from airflow.dag_processing.dagbag import DagBag
from airflow.serialization.serialized_objects import DagSerialization
place, seen = os.path.dirname(os.environ["KAPPA_HOME"]), []

def look(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith(place):
        seen.append(f"{event} {arguments[0]}")

sys.addaudithook(look)
bag = DagBag(sys.argv[1])
dags = {name: DagSerialization.to_dict(dag)["dag"] for name, dag in sorted(bag.dags.items())}
crons = str(dags["prove_replay"]["timetable"])
print(json.dumps({"errors": bag.import_errors, "dags": sorted(dags), "seen": seen, "cron": crons}, default=str))
"""


def test_no_dag_file_looks_at_the_settings_or_into_the_state_folder(tmp_path: Path) -> None:
    home = tmp_path / "state"
    (home / "artifacts" / "0123456789ab").mkdir(parents=True)
    (tmp_path / "kappa.toml").write_text("[releases]\nrollback_minutes = 7\n")
    given = {"KAPPA_HOME": str(home), "KAPPA__RELEASES__PROVE_CRON": "1 2 3 4 5"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT / "dags")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")]), **given},
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["errors"] == {}
    assert len(found["dags"]) == 10
    assert found["seen"] == []
    assert "1 2 3 4 5" in found["cron"]
