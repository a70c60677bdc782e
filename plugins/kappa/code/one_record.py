"""What an artifact makes of one record: asked of its own code, in a process of its own, of bounded time and memory."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kappa.code.artifacts import Artifact
from kappa.core.refusals import Refusal
from kappa.core.spark_environment import OF_ITS_OWN_PROCESS, environment

PROGRAM = Path("jobs", "one_record.py")
SECONDS = 120
"""The longest that it may take, and the most CPU of each of its processes."""
HEAP = "512m"
"""Spark starts with no less than 450 MB."""
BYTES = 4 * 2**30
"""The most memory of each of its processes, the heap of its JVM among it."""
_SUBMIT = {**OF_ITS_OWN_PROCESS, "spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC"}
_INHERITED = ("PATH", "JAVA_HOME", "LANG")
"""All that the process has of the caller's environment: no password, no address of a part."""


class NoVerdict(Refusal):
    """The artifact's code gave no answer."""

    def __init__(self, digest: str, why: str) -> None:
        super().__init__(
            f"the code of artifact {digest} said nothing of the record: {why}. Nothing was written, and no stream was "
            "asked. What the installed code makes of it, './kappa explain' with a version of that code tells."
        )


@dataclass(frozen=True)
class Verdict:
    """What a version's code makes of a record, by the record alone: the fate by which it is refused and, of a dead
    letter, the broken rule; `fate` None: it is accepted. `event` has the fields of what is an event."""

    fate: str | None
    reason: str | None
    event: Mapping[str, Any] | None


def ask(checkout: Path, artifact: Artifact, question: Mapping[str, Any], seconds: float = SECONDS) -> Verdict:
    """The answer of an artifact, whose files the caller has verified, to a question as `jobs/one_record.py` takes it.
    Raises NoVerdict."""
    with tempfile.TemporaryDirectory(prefix="kappa-record-") as folder:
        command = [sys.executable, str(checkout / PROGRAM)]
        process = subprocess.Popen(
            command, cwd=folder, env=surroundings(artifact.folder, folder), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=_limit,
        )  # fmt: skip
        try:
            told, said = process.communicate(json.dumps(question), timeout=seconds)
        except subprocess.TimeoutExpired:
            raise NoVerdict(artifact.digest, f"it was ended after {seconds:g} s") from None
        finally:
            _end(process)
    if process.returncode:
        lines = [line.strip() for line in said.splitlines() if line.strip() and not line.strip().startswith("at ")]
        raise NoVerdict(artifact.digest, lines[-1] if lines else f"it ended with {process.returncode}")
    return Verdict(**json.loads(told.splitlines()[-1]))


def surroundings(code: Path, folder: str) -> dict[str, str]:
    """The environment of the process: the artifact's code, a Spark of one thread, and nothing of the installation's."""
    options = " ".join(f"--conf {name}={value}" for name, value in _SUBMIT.items())
    return {
        **{name: os.environ[name] for name in _INHERITED if name in os.environ},
        **environment(code, sys.executable),
        "HOME": folder,
        "TMPDIR": folder,
        "SPARK_LOCAL_DIRS": folder,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYSPARK_SUBMIT_ARGS": f"--master local[1] --driver-memory {HEAP} {options} pyspark-shell",
    }


def _limit() -> None:
    """Of the process itself, before it runs anything; its children have the same."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))


def _end(process: subprocess.Popen[str]) -> None:
    """End it with all that it started, its JVM and that one's workers."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
