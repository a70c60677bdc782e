"""Tries Airflow: that its parts are healthy, that it lets this command in, and that its tasks have what they need."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cli.doctor.trial import Trial, Wrong
from cli.sign_in import session
from kappa.airflow_api import AirflowRefused, ask_health
from kappa.core.installation.findings import Finding
from kappa.core.installation.needs import POOLS, Seen, lacking
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.core.verb_steps import Verb
from kappa.unavailable import Unreachable
from stack.waiting import until

PART = "Airflow"
DAG, LOOK = "check_installation", "look"
RUN_SECONDS = 120
ANSWER_SECONDS = 60.0
"""An api-server that has just started on a busy machine answers late; it is asked once here, and not called silent for
that."""
SWITCHED_ON = {DAG} | {verb.dag_id for verb in Verb} - {Verb.PROVE.dag_id}
"""A proof computes everything anew, so somebody has to want it."""
PARTS = ("metadatabase", "scheduler", "triggerer", "dag_processor")


def trials(settings: Settings) -> Iterator[Trial]:
    """Its parts by what it says of them, a session, its pools, our DAGs, and what a task sees of the installation."""
    yield Trial(PART, "parts", partial(_parts, settings))
    yield Trial(PART, "sign-in", partial(_session, settings))
    yield Trial(PART, "pools", partial(_pools, settings))
    yield Trial(PART, "DAGs", partial(_dags, settings))
    yield Trial(PART, f"what tasks see ({DAG})", partial(_tasks, settings))


def _parts(settings: Settings) -> str:
    try:
        told = ask_health(settings, seconds=ANSWER_SECONDS)
    except Refusal as silent:
        remedy = "Start its api-server, or correct airflow.url and airflow.ca in the settings."
        raise Wrong(silent.silence if isinstance(silent, Unreachable) else str(silent), remedy) from silent
    if ill := [part for part in PARTS if (told.get(part) or {}).get("status") != "healthy"]:
        raise Wrong(f"not healthy: {', '.join(ill)}", "Start what is missing; its log says why it ended.")
    return "healthy: " + ", ".join(PARTS)


def _session(settings: Settings) -> str:
    airflow = session(settings)
    there = airflow.ask("to list its DAGs", "GET", "/api/v2/dags?limit=1")["total_entries"]
    return f"let in as {airflow.user}, who sees {there} DAGs"


def _pools(settings: Settings) -> str:
    held = session(settings).pools()
    _check(list(lacking(Seen(pools=held), settings.is_embedded)))
    return ", ".join(f"{pool.name} of {held[pool.name].slots}" for pool in POOLS)


def _dags(settings: Settings) -> str:
    """Of a paused one no run begins, and nobody is told: neither what somebody asks for nor what is due."""
    told = session(settings).ask("to list its DAGs", "GET", "/api/v2/dags?paused=true&limit=100")["dags"]
    paused = {dag["dag_id"] for dag in told}
    if wrong := sorted(paused & SWITCHED_ON):
        raise Wrong(f"paused, so that no run of them begins: {', '.join(wrong)}", "Switch them on in its list of DAGs.")
    unproven = f" but {Verb.PROVE.dag_id}, which waits for somebody to switch it on"
    return "none paused" + (unproven if Verb.PROVE.dag_id in paused else "")


def _tasks(settings: Settings) -> str:
    """A run of the DAG, whose first task says what is wrong."""
    airflow = session(settings)
    try:
        run = airflow.trigger(DAG, "installation", {})
    except AirflowRefused as refused:
        raise Wrong(str(refused), "Sign in as somebody with the role operator: ./kappa login --user NAME.") from refused
    if not until(lambda: airflow.look(run).ended, RUN_SECONDS, 1.0):
        remedy = "Look at the run, and at the log of the scheduler."
        raise Wrong(f"{airflow.page(run)} has not ended after {RUN_SECONDS} s", remedy)
    path = f"taskInstances/{LOOK}/xcomEntries/return_value?deserialize=true"
    seen = airflow.of_run("to show what a task saw", "GET", run, path)["value"]
    _check([Finding(**one) for one in seen["findings"]])
    return "all they need" + "".join(f"; not looked at: {hidden}" for hidden in seen["not_looked_at"])


def _check(found: list[Finding]) -> None:
    """Raises Wrong for all of them together."""
    if found:
        wrong = "; ".join(f"{one.part}: {one.wrong}" for one in found)
        raise Wrong(wrong, "\n".join(dict.fromkeys(one.remedy for one in found)))
