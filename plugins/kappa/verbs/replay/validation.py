"""What a validation is told, and how its outcome is read; the validation itself is a program of its own, in
`great_expectations/`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from kappa.core.catalog import find
from kappa.core.measures import MEASURES
from kappa.core.replays import Replay, Standing
from kappa.core.settings import HOST, Settings
from kappa.core.validation import Request, Subject
from kappa.core.versions import Version

ROLE = "kappa_registry"
PASSED, FAILED = 0, 1
"""Exit codes of the program; any other is a crash."""
SAID = 2_000
"""The most of a crashed program's last words that is kept, in characters."""

Outcome = Mapping[str, Any]
"""The program's output: success, crashed, statistics, compared_rows, comparisons, results, seconds; of a crash success,
crashed, problem."""


def subject(candidate: Version, live: Version, reached: Standing, live_reached: Standing) -> Subject:
    """A candidate beside the live version of its job, and how far each is."""
    job = find(candidate.job)
    return Subject(
        job=job.name,
        table=job.table,
        keys=tuple(job.keys),
        measures=MEASURES if job.stateful else (),
        window=timedelta(milliseconds=job.window_ms),
        candidate=candidate.version,
        live=live.version,
        candidate_starts=candidate.starts_at,
        live_starts=live.starts_at,
        candidate_through=reached.complete_through,
        live_through=live_reached.complete_through,
    )


def request(settings: Settings, replay: Replay, subjects: Iterable[Subject], seconds: float) -> Request:
    """What the program is asked. It holds no secret: the database's URL names a password file."""
    return Request(
        replay_id=str(replay.replay_id),
        run_id=replay.run_id,
        asked_by=replay.asked_by,
        reason=replay.reason,
        database=database(settings, seconds),
        parity=replay.parity,
        bands=replay.bands,
        subjects=tuple(subjects),
    )


def database(settings: Settings, seconds: float) -> str:
    """SQLAlchemy's URL of the role that validates, for schema data: it reads only, and its statements end by themselves
    after `seconds` even where the program that asked is gone."""
    options = f"-c search_path=data -c default_transaction_read_only=on -c statement_timeout={round(seconds * 1000)}"
    given = {"passfile": str(settings.passfile(ROLE)), "application_name": "kappa:validation", "options": options}
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in given.items())
    return f"postgresql+psycopg2://{ROLE}@{HOST}:{settings.ports.postgres}/{settings.database}?{query}"


def read_outcome(exit_code: int, output: str | None, last_words: str) -> Outcome:
    """What the program handed back, or that it crashed: no output, one that cannot be read, or one that its exit code
    gives the lie to."""
    if output is None:
        return crash(f"it ended with exit code {exit_code} and left no output", last_words)
    try:
        held = json.loads(output)
        success, crashed, compared = held["success"] is True, held["crashed"], held["compared_rows"]
    except (ValueError, KeyError, TypeError) as error:
        return crash(f"its output cannot be read: {error}", last_words)
    if crashed is not False or exit_code not in (PASSED, FAILED):
        first = next((r["problem"] for r in held.get("results", []) if r.get("problem")), None)
        problem = f"an expectation raised an exception: {first}" if first else f"it ended with exit code {exit_code}"
        return {**held, **crash(problem, "")}
    if success != (exit_code == PASSED):
        return crash(f"its exit code {exit_code} and its output (success: {success}) say different things", last_words)
    if success and not compared:
        return {**held, "success": False}
    return dict(held)


def crash(problem: str, last_words: str) -> dict[str, Any]:
    """The outcome of a validation that did not come to its end."""
    told = f" Its last words: {last_words.strip()[-SAID:]}" if last_words.strip() else ""
    return {"success": False, "crashed": True, "problem": f"The validation crashed: {problem}.{told}"}
