"""Proofs and replays that go wrong on a running stack: what is red of them, and what is told."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import pytest

from bench.live import Database
from kappa.airflow_api import Airflow, Run
from kappa.airflow_sign_in import embedded
from kappa.core.verb_steps import Verb
from kappa.status.causes import MEANINGS, STANDS_STILL, Cause
from stack.services.passwords import PERSON
from tests.integration.beside import load
from tests.integration.duty import Watched, watching
from tests.integration.injected import JVM, processes_of
from tests.integration.replays.attempts import LONGEST_SECONDS, reprocessing
from tests.rigs.meddling import compared_from, one_micro_off
from tests.rigs.running_stack import Stack

pytestmark = [pytest.mark.integration, pytest.mark.long(minutes=5)]
JOB, MINUTES = "ad_ctr", 3
TOLD_SECONDS = 120.0
STILL_SECONDS = 240.0
RATE = 400
"""Of a replay that is to be met while it reads."""
_WAITING = "select job, version from ops.versions where state = 'CAUGHT_UP' order by 1, 2"
"""Candidates of other tests that did not come to serve, too."""


@pytest.fixture(scope="module")
def watched(grown: Stack) -> Iterator[Watched]:
    """The stack under traffic."""
    with load(grown, random.randrange(10**6), rate=60), watching(grown) as watched:
        yield watched


@pytest.fixture
def proving(watched: Watched) -> Iterator[None]:
    """Proofs are switched on; Airflow then begins one of its own, too, and nobody else gets the job before its end."""
    _pause(watched.stack, False)
    yield
    _pause(watched.stack, True)
    watched.stack.until("no proof goes on", lambda: not _held(watched.stack), LONGEST_SECONDS)


@pytest.mark.usefixtures("proving")
def test_a_proof_says_over_how_many_records_live_equals_its_replay(watched: Watched) -> None:
    stack = watched.stack
    waiting = stack.query(_WAITING)
    run, state = _proven(stack)
    (said,) = _said(stack, run, "prove.done")
    assert state == "success", said
    assert said.startswith("live equals replay over ")
    assert "none differs" in said
    assert stack.query(_WAITING) == waiting, "its candidate was thrown away"


@pytest.mark.usefixtures("proving")
def test_a_served_number_that_the_log_does_not_give_is_refuted_red_and_told(watched: Watched) -> None:
    stack, before = watched.stack, len(watched.duty.told)
    database = Database(stack.settings)
    with one_micro_off(stack.settings, database, compared_from(database, JOB)) as row:
        run, state = _proven(stack)
    assert state == "failed"
    (said,) = _said(stack, run, "prove.refuted")
    assert row[1] in str(stack.query("select evidence from ops.audit where run_id = %s", run.run_id))
    ((candidate, red),) = stack.query(
        "select version, detail from ops.red_lines where what = 'failed' and job = %s", JOB
    )
    assert f"does not equal its replay: {said}" in red
    begins = watched.see(Cause.PROOF, before, "red", None, TOLD_SECONDS)
    stack.kappa("retire", JOB, str(candidate), "--reason", "it is understood")
    ends = watched.see(Cause.PROOF, before, "over", None, TOLD_SECONDS)
    of_it = watched.of(Cause.PROOF, before)
    print(f"{Cause.PROOF}: {begins}; from its being understood: {ends}")
    print("\n".join(f"{message['title']}\n{message['message']}" for message in of_it))
    assert [message["title"].split(":")[0] for message in of_it] == ["red", "over"]


def test_a_replay_that_stands_still_is_told_and_goes_on(watched: Watched) -> None:
    stack, before = watched.stack, len(watched.duty.told)
    starts = compared_from(Database(stack.settings), JOB)
    slowly = ("--from", f"{starts:%Y-%m-%dT%H:%MZ}", "--rate", str(RATE))
    with reprocessing(stack, JOB, reason="stands still", options=slowly, expect=1) as attempt:
        number = attempt.until_staged().versions[JOB]
        candidate = f"{JOB} v{number}"
        stack.until("it has begun to read", lambda: _has_read(stack, number), STILL_SECONDS)
        driver = max(processes_of(stack, JVM, JOB), key=lambda process: process.create_time())
        driver.suspend()
        begun = time.monotonic()
        try:
            stack.until("it is told", lambda: _titles(watched, before, "red", candidate) != [], STILL_SECONDS)
            print(f"told after {time.monotonic() - begun:.0f} s")
        finally:
            driver.resume()
        stack.until("its end is told", lambda: _titles(watched, before, "over", candidate) != [], STILL_SECONDS)
        attempt.answer("Reject")
    print("\n".join(f"{message['title']}\n{message['message']}" for message in watched.duty.told[before:]))
    assert len(_titles(watched, before, "red", candidate)) == len(_titles(watched, before, "over", candidate)) == 1


def _has_read(stack: Stack, version: int) -> bool:
    query = "select exists (select from ops.batches where job = %s and version = %s)"
    return stack.query(query, JOB, version) == [(True,)]


def _held(stack: Stack) -> bool:
    return stack.query("select exists (select from ops.leases where verb = %s)", Verb.PROVE) == [(True,)]


def _titles(watched: Watched, before: int, word: str, version: str) -> list[str]:
    """Of a version that stands still."""
    begins = tuple(f"{word}: {MEANINGS[cause].title}" for cause in STANDS_STILL)
    return [title for title in watched.duty.titles[before:] if title.startswith(begins) and version in title]


def _proven(stack: Stack) -> tuple[Run, str]:
    """A proof over the newest minutes that are final: its run, and the state in which that ended."""
    airflow = Airflow(embedded(stack.settings, PERSON))
    run = airflow.trigger_together(Verb.PROVE.dag_id, [JOB], {"minutes": MINUTES, "reason": "test"})
    stack.until("the proof has ended", lambda: airflow.look(run).ended, LONGEST_SECONDS)
    return run, airflow.look(run).state


def _said(stack: Stack, run: Run, action: str) -> list[str]:
    query = "select evidence ->> 'sentence' from ops.audit where run_id = %s and action = %s"
    return [sentence for (sentence,) in stack.query(query, run.run_id, action)]


def _pause(stack: Stack, is_paused: bool) -> None:
    airflow = Airflow(embedded(stack.settings, PERSON))
    airflow.ask("to pause a DAG", "PATCH", f"/api/v2/dags/{Verb.PROVE.dag_id}", {"is_paused": is_paused})
