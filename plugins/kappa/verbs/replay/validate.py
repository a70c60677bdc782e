"""Validate a replay's candidates: a process of its own looks, and whatever becomes of it is an outcome."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from kappa.core.replays import Replay, Standing
from kappa.core.validation import Subject
from kappa.core.versions import Version
from kappa.platform import Platform
from kappa.verbs.drivers.launch import version_of
from kappa.verbs.replay.validation import Outcome, crash, read_outcome, request, subject

CHECKOUT = Path(__file__).resolve().parents[4]
PROGRAM = CHECKOUT / "great_expectations" / "validate.py"
SECONDS = 600.0
INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "KAPPA_STACK", "KAPPA_HOME")
"""What the program gets of this process' environment: in an Airflow task the rest holds Airflow's own."""
FILES = {"input": "in.json", "output": "out.json", "report": "report.html"}
"""The program's arguments, and the files of an attempt that they name."""
TAIL = 4_000


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

    Reads only, but for the files of this attempt in a folder of its own: `<home>/validations/<replay>/<attempt>/`
    (in.json, out.json, report.html); the outcome's `folder` is relative to the state folder. Run again, it looks again.
    Nothing is raised for a validation that goes wrong: it is an outcome, {"success": false, "crashed": true,
    "problem": ...}.
    Raises UnknownVersion, Unreachable where what it is to compare cannot be read.
    """
    subjects = [subject_of(platform, replay, job, standing) for job in replay.versions]
    folder = platform.settings.home / "validations" / str(replay.replay_id) / uuid4().hex[:12]
    folder.mkdir(parents=True)
    files = {name: folder / file for name, file in FILES.items()}
    files["input"].write_text(json.dumps(request(platform.settings, replay, subjects, seconds).to_json(), indent=1))
    command = [sys.executable, str(PROGRAM)]
    for name, file in files.items():
        command += [f"--{name}", str(file)]
    ended = (run or run_program)(command, folder, seconds)
    return {**outcome_of(ended, files["output"], seconds), "folder": str(folder.relative_to(platform.settings.home))}


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
    own = {"PYTHONPATH": str(CHECKOUT / "plugins"), "GX_ANALYTICS_ENABLED": "false"}
    return {name: environment[name] for name in INHERITED if name in environment} | own
