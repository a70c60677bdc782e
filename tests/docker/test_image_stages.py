"""docker/Dockerfile: what a stage runs finds all that it imports among what it copies; no image is built here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from cli.entry import CHECKOUT
from kappa.core.spark_environment import search_path

STAGES = re.split(r"^FROM ", (CHECKOUT / "docker" / "Dockerfile").read_text().replace("\\\n", " "), flags=re.M)


def copied(name: str) -> list[list[str]]:
    """The files of this checkout that a stage copies, with where to: [source, ..., folder]."""
    (stage,) = [each for each in STAGES if each.splitlines()[0].endswith(f" AS {name}")]
    return [words.split() for words in re.findall(r"^COPY (?!--from)(.+)$", stage, re.M)]


def test_jars_are_fetched_by_what_their_stage_copies(tmp_path: Path) -> None:
    for *sources, folder in copied("jars"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        for source in sources:
            shutil.copy(CHECKOUT / source, tmp_path / folder)
    environment = {**os.environ, "PYTHONPATH": search_path(tmp_path)}
    command = [sys.executable, "-P", "docker/jars.py", str(tmp_path / "jars")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
