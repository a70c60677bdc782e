"""What a validation is told, and how its outcome is read; the validation itself is a program of its own, in
`great_expectations/`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from kappa.core.environment import OWN_CODE
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import find
from kappa.core.replays import Replay, Standing
from kappa.core.validation import Held, Request, Subject
from kappa.core.versions import Version
from kappa.platform import Platform
from kappa.verbs.drivers.launch import version_of

PROGRAM = OWN_CODE / "great_expectations" / "validate.py"
SECONDS = 600.0
INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "KAPPA_STACK", "KAPPA_HOME")
"""What the program gets of this process' environment: in an Airflow task the rest holds Airflow's own."""
FILES = {"input": "in.json", "output": "out.json", "report": "report.html"}
"""The program's arguments, and the files of an attempt that they name."""
TAIL = 4_000
_MADE_AT = "%Y%m%dT%H%M%S"


@dataclass(frozen=True)
class Ended:
    """A program that has ended: its exit code and what it said last; None where it was ended after its time."""

    exit_code: int | None
    last_words: str


Runner = Callable[[list[str], Path, float], Ended]
"""Runs a command in a folder, for at most so many seconds."""


def validate(
    platform: Platform,
    replay: Replay,
    standing: Callable[[str, int], Standing],
    seconds: float = SECONDS,
    run: Runner | None = None,
) -> Outcome:
    """The outcome of validating a replay's candidates, each beside the version that was live when it was planned.

    Reads only, but for the files of this attempt, which are put below `validations/<replay>/<attempt>/` of the store
    (in.json, out.json, report.html); the outcome's `folder` is relative to the store. Run again, it looks again.
    Nothing is raised for a validation that goes wrong: it is an outcome, {"success": false, "crashed": true,
    "problem": ...}.
    Raises UnknownVersion, Unreachable where what it is to compare cannot be read, StoreAway.
    """
    subjects = [subject_of(platform, replay, job, standing) for job in replay.versions]
    asked = request(platform.settings, replay, subjects, seconds)
    return judged(platform.settings, asked, Path("validations", str(replay.replay_id)), seconds, run)


def judged(settings: Settings, asked: Request, below: Path, seconds: float, run: Runner | None = None) -> Outcome:
    """The outcome of a request, whose files are put into a folder of their own below a folder of the store; that tells
    in its name when, since not every store does. Raises StoreAway."""
    kept = below / attempt(datetime.now(UTC))
    with tempfile.TemporaryDirectory(prefix="kappa-validation-") as scratch:
        files = {name: Path(scratch, file) for name, file in FILES.items()}
        files["input"].write_text(json.dumps(asked.to_json(), indent=1))
        command = [sys.executable, str(PROGRAM)]
        for name, file in files.items():
            command += [f"--{name}", str(file)]
        ended = (run or run_program)(command, Path(scratch), seconds)
        outcome = outcome_of(ended, files["output"], seconds)
        for file in filter(Path.is_file, Path(scratch).iterdir()):
            (settings.store / str(kept / file.name)).write(file.read_bytes())
    return {**outcome, "folder": str(kept)}


def attempt(at: datetime) -> str:
    """A name for the folder of an attempt that is made then, in UTC; no other has it."""
    return f"{at:{_MADE_AT}}-{uuid4().hex[:6]}"


def made_at(folder: str) -> datetime:
    """When the attempt was made whose folder has this name. Raises ValueError for one that `attempt` did not give."""
    return datetime.strptime(folder.partition("-")[0], _MADE_AT).replace(tzinfo=UTC)


def subject_of(platform: Platform, replay: Replay, job: str, standing: Callable[[str, int], Standing]) -> Subject:
    """A candidate beside the version that is live; the standings are read now, and what is final stays final."""

    def at(number: int) -> tuple[Version, Standing]:
        return version_of(platform, job, number), standing(job, number)

    (candidate, reached), (live, live_reached) = at(replay.versions[job]), at(replay.live[job])
    return subject(candidate, live, reached, live_reached)


def outcome_of(ended: Ended, output: Path, seconds: float) -> Outcome:
    """What became of the program."""
    if ended.exit_code is None:
        return crash(f"it was not done after {seconds:.0f} s and was ended", ended.last_words)
    try:
        text = output.read_text()
    except (OSError, UnicodeDecodeError):
        text = None
    return read_outcome(ended.exit_code, text, ended.last_words)


def run_program(command: list[str], folder: Path, seconds: float) -> Ended:
    """Run the program; it ends with this call, whatever ends it."""
    words = folder / "words.log"
    with words.open("wb") as said:
        try:
            code: int | None = subprocess.run(
                command, cwd=folder, env=surroundings(os.environ), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=said, timeout=seconds,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            code = None
    return Ended(code, words.read_text(errors="replace")[-TAIL:])


def surroundings(environment: Mapping[str, str]) -> dict[str, str]:
    """The program's environment.

    Of the checkout its path has the plugins, for the kernel, and the program's own folder, which Python puts there.
    With the checkout on it, the folder `great_expectations` would stand beside the package of that name.
    """
    own = {"PYTHONPATH": str(OWN_CODE / "plugins"), "GX_ANALYTICS_ENABLED": "false"}
    return {name: environment[name] for name in INHERITED if name in environment} | own


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
    return Subject.of(
        find(candidate.job),
        Held(candidate.version, candidate.starts_at, reached.complete_through),
        Held(live.version, live.starts_at, live_reached.complete_through),
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
    passfile = {"passfile": str(settings.passfile(ROLE)), "application_name": "kappa:validation", "options": options}
    given = {**settings.database_server.parameters(), **passfile}
    server = f"{given.pop('host')}:{given.pop('port')}"
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in given.items())
    return f"postgresql+psycopg2://{ROLE}@{server}/{settings.database}?{query}"


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
    if success and not compared and not held.get("of_live"):
        return {**held, "success": False}
    return dict(held)


def crash(problem: str, last_words: str) -> dict[str, Any]:
    """The outcome of a validation that did not come to its end."""
    told = f" Its last words: {last_words.strip()[-SAID:]}" if last_words.strip() else ""
    return {"success": False, "crashed": True, "problem": f"The validation crashed: {problem}.{told}"}
