"""Airflow's REST API, all that is asked of it: runs, questions and their answers, notes, pools, health."""

from __future__ import annotations

import getpass
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import httpx

from kappa.airflow_sign_in import SignedIn, client
from kappa.core.audit import is_in_place, run_id
from kappa.core.installation.needs import Held
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.core.verb_steps import Verb
from kappa.core.versions import Lease
from kappa.unavailable import Unreachable

RESULT_TASK = "conclude"
PATIENCE = httpx.Timeout(60.0, connect=20.0)
"""For an answer and for a connection, in seconds: a server that has just started on a busy machine answers late, and
what it answers first is TLS's handshake."""
HEALTH_SECONDS = 5.0
"""For what Airflow says of its parts, by who looks again and again."""
KNOWN_AFTER_SECONDS = 60.0
LONGEST_NOTE = 1000
"""Characters that Airflow takes."""
ENDED = frozenset({"success", "failed"})


class AirflowRefused(Refusal):
    """Airflow took a request and said no."""

    def __init__(self, what: str, status: int, detail: object) -> None:
        super().__init__(f"Airflow refused {what} ({status}): {detail}")


@dataclass(frozen=True)
class Run:
    """A run of a DAG, for one job or for several together; `job` names them for people, where somebody asks."""

    dag_id: str
    run_id: str
    job: str = ""

    @property
    def path(self) -> str:
        """Where the REST API has it."""
        return f"/api/v2/dags/{quote(self.dag_id, safe='')}/dagRuns/{quote(self.run_id, safe='')}"


@dataclass(frozen=True)
class Seen:
    """A run as it is now: its state, and that of each task, in the order in which they were begun."""

    state: str
    tasks: Mapping[str, str]

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in ENDED


class Airflow:
    """A session of one user with the api-server. Every call raises Unreachable when it does not answer, and NotSignedIn
    or SignInRefused when it does not know the user."""

    def __init__(
        self, who: SignedIn, transport: httpx.BaseTransport | None = None, patience: httpx.Timeout = PATIENCE
    ) -> None:
        self.user, self._url = who.user, who.url
        self._client = client(who.url, who.ca, patience, transport, who)

    def trigger(self, dag_id: str, job: str, conf: Mapping[str, Any]) -> Run:
        """Start a run for one job with an id of our own. Raises AirflowRefused."""
        return self._begin(Run(dag_id, run_id(dag_id, job), job), {"job": job, **conf})

    def trigger_together(self, dag_id: str, jobs: Sequence[str], conf: Mapping[str, Any]) -> Run:
        """Start one run for all these jobs with an id of our own. Raises AirflowRefused."""
        return self._begin(Run(dag_id, run_id(dag_id, ".".join(jobs)), ", ".join(jobs)), {"jobs": list(jobs), **conf})

    def _begin(self, run: Run, conf: Mapping[str, Any]) -> Run:
        """Start the run; waits for a DAG that Airflow has not read yet."""
        # Airflow gives a free slot to the earliest date, and among none to any: of two replays that share the one slot
        # for catching up, the one that is ready could wait for all of the other before it is told so.
        asked_at = datetime.now(UTC).isoformat()
        told = {**conf, "typed_by": getpass.getuser()}
        body = {"logical_date": asked_at, "dag_run_id": run.run_id, "conf": told}
        deadline = time.monotonic() + KNOWN_AFTER_SECONDS
        while True:
            answer = self._call("POST", f"/api/v2/dags/{run.dag_id}/dagRuns", body)
            if answer.status_code == httpx.codes.NOT_FOUND and time.monotonic() < deadline:
                time.sleep(1)
                continue
            _checked(f"to run {run.dag_id}", answer)
            return run

    def look(self, run: Run) -> Seen:
        """The run as it is now. Raises AirflowRefused."""
        path = run.path
        state = _checked("to show a run", self._call("GET", path))["state"]
        instances = _checked("to show tasks", self._call("GET", f"{path}/taskInstances"))["task_instances"]
        begun = sorted(instances, key=lambda task: (not task.get("start_date"), task.get("start_date") or ""))
        return Seen(state, {task["task_id"]: task["state"] or "none" for task in begun})

    def has_ended(self, verb: str, run_id: str) -> bool:
        """Whether a verb's run is over, or was deleted; one in place is not Airflow's to judge. Raises AirflowRefused,
        also where Airflow does not know the verb's DAG: then it says nothing about the run."""
        if is_in_place(run_id):
            return False
        run = Run(Verb(verb).dag_id, run_id)
        answer = self._call("GET", run.path)
        if answer.status_code == httpx.codes.NOT_FOUND:
            self.ask("to show a DAG", "GET", f"/api/v2/dags/{run.dag_id}")
            return True
        return _checked("to show a run", answer)["state"] in ENDED

    def result(self, run: Run) -> str | None:
        """The sentence that the run ended with; None where it has none."""
        path = f"{run.path}/taskInstances/{RESULT_TASK}/xcomEntries/return_value"
        answer = self._call("GET", path)
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        value = _checked("to show a result", answer)["value"]
        return str(json.loads(value)) if isinstance(value, str) and value.startswith('"') else str(value)

    def page(self, run: Run) -> str:
        """Where to look at the run."""
        return f"{self._url}/dags/{run.dag_id}/runs/{run.run_id}"

    def note(self, run: Run, text: str) -> None:
        """Set the run's note. Raises AirflowRefused."""
        _checked("the note", self._call("PATCH", run.path, {"note": text[:LONGEST_NOTE]}))

    def questions(self, run: Run) -> list[dict[str, Any]]:
        """What the run's tasks have asked people, with what was answered. Raises AirflowRefused."""
        held: list[dict[str, Any]] = self.of_run("to show what a run asks", "GET", run, "hitlDetails")["hitl_details"]
        return held

    def answer(self, run: Run, task_id: str, index: int, option: str) -> None:
        """Answer a task's question as the session's user. Raises AirflowRefused."""
        rest = f"taskInstances/{task_id}/{index}/hitlDetails"
        self.of_run("the answer", "PATCH", run, rest, {"chosen_options": [option], "params_input": {}})

    def sign_out(self) -> None:
        """Have Airflow take the session's token no longer. Raises AirflowRefused, Unreachable."""
        answer = self._call("GET", "/api/v2/auth/logout")
        if answer.is_error:  # what it answers is a way to its page of sign-in, which is no success to httpx
            _checked("to sign out", answer)

    def pools(self) -> dict[str, Held]:
        """The pools there are, by name. Raises AirflowRefused."""
        found = self.ask("to show its pools", "GET", "/api/v2/pools?limit=100")["pools"]
        return {pool["name"]: Held(pool["slots"], pool["include_deferred"]) for pool in found}

    def make_pools(self, pools: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Have these pools as they are given, made or overwritten; what went wrong. Raises AirflowRefused."""
        create = {"action": "create", "action_on_existence": "overwrite", "entities": list(pools)}
        answer = self._call("PATCH", "/api/v2/pools", {"actions": [create]})
        problems: list[Any] = _checked("its pools", answer)["create"]["errors"]
        return problems

    def of_run(
        self, what: str, method: str, run: Run, rest: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """What Airflow answers below a run's own path; `what` names the request. Raises AirflowRefused."""
        return self.ask(what, method, f"{run.path}/{rest}", body)

    def ask(self, what: str, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What Airflow answers at a path; `what` names the request. Raises AirflowRefused."""
        return _checked(what, self._call(method, path, body))

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> httpx.Response:
        try:
            return self._client.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise Unreachable("Airflow", self._url, error or type(error).__name__) from error


def health(settings: Settings, transport: httpx.BaseTransport | None = None) -> dict[str, Any] | None:
    """What Airflow says of its own parts, which anybody may ask; None while it says nothing."""
    try:
        return ask_health(settings, transport)
    except Refusal:
        return None


def ask_health(
    settings: Settings, transport: httpx.BaseTransport | None = None, seconds: float = HEALTH_SECONDS
) -> dict[str, Any]:
    """The same, waited for so long. Raises Unreachable, AirflowRefused, UnreadableAuthority."""
    url = settings.airflow_url
    try:
        with client(url, settings.airflow.ca, seconds, transport) as api:
            return _checked("to show its health", api.get("/api/v2/monitor/health"))
    except (httpx.HTTPError, ValueError) as error:
        raise Unreachable("Airflow", url, error or type(error).__name__) from error


class Holders:
    """Tells whether the run that holds a lease has ended, as Airflow says; where Airflow cannot say, it has not."""

    def __init__(self, sign_in: Callable[[], Airflow]) -> None:
        self._sign_in = sign_in
        self._airflow: Airflow | None = None

    def __call__(self, held: Lease) -> bool:
        """Whether the lease's holder is gone for good."""
        try:
            self._airflow = self._airflow or self._sign_in()
            return self._airflow.has_ended(held.verb, held.run_id)
        except Refusal:
            return False


def _checked(what: str, answer: httpx.Response) -> dict[str, Any]:
    """The answer's JSON. Raises AirflowRefused; Unreachable where Airflow, or what stands before it, failed: of that
    another try may be better."""
    if answer.is_success:
        held: dict[str, Any] = answer.json()
        return held
    try:
        detail = answer.json().get("detail", answer.text)
    except ValueError:
        detail = answer.text[:200]
    if answer.is_server_error:
        raise Unreachable("Airflow", str(answer.url), f"{answer.status_code}: {detail}")
    raise AirflowRefused(what, answer.status_code, detail)
