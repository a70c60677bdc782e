"""Artifacts of this checkout's code with one edit, made and built in a copy: nothing in the product knows of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.live import CommandFailed
from cli.entry import CHECKOUT
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.core.spark_environment import search_path

FOLDERS = ("cli", "examples", "jobs", "plugins", "stack", "traffic", "oracle")
"""What the command `build` imports."""


class PatchDoesNotFit(Refusal):
    """The code has changed since the patch was written."""

    def __init__(self, patch: Patch, found: int) -> None:
        super().__init__(
            f"the edit '{patch.what}' fits {patch.file} {found} times instead of once; nothing was built. Put the "
            f"patch right."
        )


@dataclass(frozen=True)
class Patch:
    """One edit: `old` stands once in `file` (from the checkout on) and becomes `new`; `what` says it for people."""

    what: str
    file: str
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Edit a copy of the code. Raises PatchDoesNotFit."""
        file = root / self.file
        text = file.read_text()
        if (found := text.count(self.old)) != 1:
            raise PatchDoesNotFit(self, found)
        file.write_text(text.replace(self.old, self.new))


def build(settings: Settings, patch: Patch) -> str:
    """The digest of the artifact of this checkout's code with that edit, made by the copy's own command.

    The copy builds itself, for an artifact's fingerprints are by the catalogue of the code that builds it. Raises
    PatchDoesNotFit, CommandFailed.
    """
    with tempfile.TemporaryDirectory(prefix="kappa-patched-") as folder:
        copy = Path(folder)
        for name in FOLDERS:
            shutil.copytree(CHECKOUT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        patch.apply(copy)
        return _built(settings, copy)


def _built(settings: Settings, copy: Path) -> str:
    paths = {"PYTHONPATH": search_path(copy), "KAPPA_HOME": str(settings.home)}
    command = [sys.executable, "-P", "-m", "cli.main", "build", "--json"]
    done = subprocess.run(command, cwd=copy, env={**os.environ, **paths}, capture_output=True, text=True)
    if done.returncode:
        raise CommandFailed(["build"], done.returncode, done.stderr)
    return str(json.loads(done.stdout)["digest"])
