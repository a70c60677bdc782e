"""Prove that a replay gives what is served: replay a closed span with the same code, compare exactly, throw it away.

Paused until somebody switches it on; what it costs, a dry run says. The audit gets "live equals replay over N records",
or the rows that differ, with a red line on the candidate, which is kept for a day. With `promote` set it is the user's
own reprocessing on schedule, as the jobs' policy allows. When it runs, `[releases] prove_cron` in kappa.toml says.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from airflow.sdk import CronTriggerTimetable, dag, task

from kappa.airflow.forms import form
from kappa.airflow.replay_tasks import replay_graph
from kappa.airflow.task_context import DEFAULTS, NO_BACKFILL, REPLAY_TIMEOUT, conducting
from kappa.core.installation.settings import cron
from kappa.core.requests.fields import read
from kappa.core.requests.reprocessing import ProveRequest
from kappa.verbs.replay import steps as reprocess
from kappa.verbs.replay.observation import closed_span_start, plan_reprocess

VERB = reprocess.PROVE


@task
def plan() -> dict[str, Any]:
    with conducting(VERB) as run:
        planned = reprocess.recall(run.platform, VERB, run.author)
        if planned is None:
            asked = read(ProveRequest, run.params)
            start = closed_span_start(run.platform, asked.jobs, asked.minutes)
            planned = plan_reprocess(run.platform, asked.replay(start), same_code=True)
        print("\n".join(f"{name}: {value}" for name, value in planned.rows()))
        return planned.to_json()


@dag(
    dag_id="prove_replay",
    dag_display_name="Prove by a replay",
    schedule=CronTriggerTimetable(cron("prove_cron"), timezone="UTC"),
    start_date=datetime(2026, 1, 1),
    catchup=False,
    allowed_run_types=NO_BACKFILL,
    max_active_runs=1,
    dagrun_timeout=REPLAY_TIMEOUT,
    tags=["lifecycle", "replay"],
    params=form(ProveRequest),
    default_args=dict(DEFAULTS),
    doc_md=__doc__,
    is_paused_upon_creation=True,
)
def prove_replay() -> None:
    replay_graph(VERB, plan())


prove_replay()
