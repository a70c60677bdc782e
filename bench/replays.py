"""A replay as a bench sees it: asked for by one user, answered by another, and the moments of its run."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from bench.batches import Batch
from bench.live import Database, Said, ask
from cli.approval_prompt import ANSWERS, answer, open_question
from kappa.airflow_api import Airflow, Run
from kappa.airflow_sign_in import embedded
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.core.verb_steps import Verb
from stack.services.passwords import APPROVER

REASON = "bench"
POLL_SECONDS = 1.0
LONGEST_SECONDS = 6 * 3600
"""Of a replay held to a rate; its run has a deadline of its own, by its price."""
APPROVE, REJECT = ANSWERS["a"], ANSWERS["r"]
ASKED_AFTER = "reprocess.validated"
"""The moment from which on a question is looked for; before it, Airflow is left alone."""
_NEWEST = """
select run_id, versions, price, validation from ops.replays
where begun_at >= to_timestamp(%s::float8 / 1000) order by begun_at desc limit 1
"""
_MARKS = "select action, extract(epoch from min(at))::float8 * 1000 from ops.audit where run_id = %s group by action"


class NotReplayed(Refusal):
    """A replay that was to be measured did not come to its end."""

    def __init__(self, said: Said) -> None:
        super().__init__(f"the replay did not come to its end, so nothing of it counts: {sentence(said)}")


@dataclass(frozen=True)
class Replayed:
    """A replay's run: candidates by job, price, the outcome of its validation, and its moments (action to epoch ms)."""

    run_id: str
    versions: Mapping[str, int]
    price: Mapping[str, Any]
    validation: Mapping[str, Any]
    marks: Mapping[str, float]

    @property
    def expected(self) -> int:
        """Records that the plan counted, of each candidate."""
        return int(self.price["records"]) // len(self.versions)


def sentence(said: Said) -> str:
    """What a lifecycle command with --json said at its end; a refusal before its run stands on stderr."""
    try:
        return " ".join(outcome["sentence"] for outcome in json.loads(said.out))
    except (ValueError, KeyError, TypeError):
        _, _, words = said.err.partition("error: ")
        return (words or said.err).strip() or f"exit {said.exit_code}"


def measured(settings: Settings, database: Database, jobs: Sequence[str], options: Sequence[str]) -> Replayed:
    """A replay that is approved and promoted. Raises NotReplayed."""
    since = database.now_ms()
    said = replay(settings, database, jobs, options)
    found = newest(database, since)
    if said.exit_code or found is None:
        raise NotReplayed(said)
    return found


def replay(
    settings: Settings, database: Database, jobs: Sequence[str], options: Sequence[str], reply_with: str = APPROVE
) -> Said:
    """Run `./kappa reprocess` to its end, whatever that is; a question is answered by one who may."""
    since, arguments = database.now_ms(), (*jobs, *options, "--reason", REASON, "--json")
    with ThreadPoolExecutor(1) as pool:
        command = pool.submit(ask, settings, "reprocess", *arguments, timeout=LONGEST_SECONDS)
        while not command.done():
            found = newest(database, since)
            if found is not None and ASKED_AFTER in found.marks and "replay.answered" not in found.marks:
                reply(settings, found.run_id, reply_with)
            time.sleep(POLL_SECONDS)
        return command.result()


def newest(database: Database, since_ms: float) -> Replayed | None:
    """The newest replay that was staged since then."""
    for run_id, versions, price, validation in database.rows(_NEWEST, since_ms):
        return Replayed(run_id, versions, price, validation or {}, dict(database.rows(_MARKS, run_id)))
    return None


def reply(settings: Settings, run_id: str, option: str) -> bool:
    """Answer the run's question, as somebody who may; whether it asks one. Raises Unreachable, AirflowRefused,
    NoPassword."""
    run = Run(Verb.REPROCESS.dag_id, run_id, "")
    approver = Airflow(embedded(settings, APPROVER))
    question = open_question(approver, run)
    if question is None:
        return False
    answer(approver, run, question, option)
    return True


def phases(
    begun_ms: float, marks: Mapping[str, float], first_ms: float, read_ms: float
) -> dict[str, tuple[float, float]]:
    """The stretches of a replay (epoch ms, from and until) by name: `during` is from the launch to its being caught up,
    of which `starting` is up to the first commit and `reading` from there to the end of what the plan counted."""
    launched, caught_up = marks["reprocess.launched"], marks["reprocess.caught_up"]
    return {
        "before": (begun_ms, marks["reprocess.planned"]),
        "during": (launched, caught_up),
        "starting": (launched, first_ms),
        "reading": (first_ms, read_ms),
        "validating": (caught_up, marks["reprocess.validated"]),
    }


def worked_off(batches: Sequence[Batch], expected: int) -> list[Batch]:
    """The batches up to the one that brings what was expected; all of them where none does."""
    read = 0
    for number, batch in enumerate(batches, start=1):
        read += batch.read
        if read >= expected:
            return list(batches[:number])
    return list(batches)
