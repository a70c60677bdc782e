"""Prometheus and promtool, built from pinned Go modules into the user's cache: `python -m` this module."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from kappa.core.refusals import Refusal
from stack.provisioning import providers

NAMES = ("promtool", "prometheus")
MODULE = Path("observability", "tools")
TAGS = "-tags=remove_all_sd"
"""Without the discovery of services in clouds, of which nothing is used here, it is built in a third of the time."""


class NoPrometheus(Refusal):
    """Go is missing, or could not build it."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"{' and '.join(NAMES)} cannot be built: {why}. Install Go 1.26 or newer, and check that it reaches its "
            "module proxy (go env GOPROXY). Without them the tests of the alert rules are skipped."
        )


def folder(checkout: Path, environment: Mapping[str, str]) -> Path:
    """Where they are once they are built: another go.sum is another folder."""
    pinned = b"".join((checkout / MODULE / name).read_bytes() for name in ("go.mod", "go.sum"))
    return providers.cache(environment).parent / f"prometheus-{hashlib.sha256(pinned).hexdigest()[:12]}"


def build(checkout: Path, environment: Mapping[str, str], echo: Callable[[str], None]) -> Path:
    """The folder with both; what is missing is built, some minutes each. Raises NoPrometheus."""
    there = folder(checkout, environment)
    there.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        if not (there / name).exists():
            echo(f"building {name}, some minutes")
            _build(name, checkout / MODULE, there, environment)
    return there


def _build(name: str, module: Path, there: Path, environment: Mapping[str, str]) -> None:
    """One program, whole or not at all."""
    go = shutil.which("go", path=environment.get("PATH", os.defpath))
    if go is None:
        raise NoPrometheus("there is no 'go' on the PATH")
    with tempfile.TemporaryDirectory(dir=there) as new:
        package = f"github.com/prometheus/prometheus/cmd/{name}"
        done = subprocess.run(
            [go, *providers.BUILD, TAGS, "-o", f"{new}/{name}", package], cwd=module, stdin=subprocess.DEVNULL,
            env={**environment, "CGO_ENABLED": "0"}, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            raise NoPrometheus(f"Go said:\n{done.stderr.strip()[-2000:]}\n")
        Path(new, name).rename(there / name)


if __name__ == "__main__":
    print(build(Path(__file__).resolve().parents[2], os.environ, print))
