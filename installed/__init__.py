"""The package `kappa` of a wheel: beside this file lies a whole checkout, in which its modules are, and `main` runs the
command from there."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent / "checkout"
__path__ = [str(CHECKOUT / "plugins" / "kappa")]
"""So that each module is there once, at the place below the checkout from which it finds the rest of it."""


def main() -> None:
    """Become the command of the checkout; what the script `kappa` calls."""
    command = [sys.executable, "-P", "-m", "cli.main", *sys.argv[1:]]
    os.execve(sys.executable, command, environment(os.environ))


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """That of the command: its code before all else, and folders of the user's for what it writes, since nobody may
    write beside installed code; `KAPPA_HOME` and `KAPPA_CACHE` name others."""
    state = Path(given.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    cache = Path(given.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folders = {"KAPPA_HOME": str(state / "kappa" / "stack"), "KAPPA_CACHE": str(cache / "kappa")}
    return {
        **folders,
        **given,
        "KAPPA_COMMAND": "kappa",
        "PYTHONPATH": _before(given.get("PYTHONPATH"), CHECKOUT, CHECKOUT / "plugins"),
        # A Java is looked for on PATH alone.
        "PATH": _before(given.get("PATH"), *(Path(java) / "bin" for java in [given.get("JAVA_HOME")] if java)),
        # The commit of an artifact is not that of a repository in which somebody's environment happens to lie.
        "GIT_CEILING_DIRECTORIES": str(CHECKOUT.parent),
    }


def _before(given: str | None, *folders: Path) -> str:
    """A search path that begins with these folders."""
    return os.pathsep.join([*map(str, folders), *([given] if given else [])])
