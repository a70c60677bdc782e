"""Answers the question of the newest replay, on a host of a lab, as one of Airflow's users.

`python -m tests.rigs.lab.answering PERSON PASSWORD-FILE OPTION` prints what came of it: answered, not asked, or why
not.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cli.approval_prompt import answer, open_question
from cli.entry import CHECKOUT
from kappa.airflow_api import Airflow, AirflowRefused, Run
from kappa.airflow_sign_in import SignedIn
from kappa.core.installation.settings import from_environment

DAG = "reprocess_stream"


def main(person: str, password_file: str, option: str) -> str:
    """What came of the answer."""
    settings = from_environment(CHECKOUT)
    password = Path(password_file).read_text()
    airflow = Airflow(SignedIn(settings.airflow_url, person, password, ca=settings.airflow.ca))
    newest = f"/api/v2/dags/{DAG}/dagRuns?order_by=-run_after&limit=1"
    (found,) = airflow.ask("to list replays", "GET", newest)["dag_runs"] or [None]
    run = found and Run(DAG, found["dag_run_id"])
    try:
        question = run and open_question(airflow, run)
        if not question:
            return "not asked"
        answer(airflow, run, question, option)
    except AirflowRefused as refused:
        return str(refused)
    return "answered"


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
