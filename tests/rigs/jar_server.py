"""A server of one jar, beside the tests that ask it for as long as they run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from kappa.core.installation.settings import Settings
from stack.layout import Layout
from stack.services import jars
from stack.services.jars import Jar, JarUnreachable
from stack.waiting import until

JAVA = shutil.which("java") or "java"
PATIENCE_SECONDS = 300.0


def fetched(jar: Jar, folder: Path) -> Path:
    """The jar in the folder `jars` below. Skips the test where it cannot be had."""
    cache = Layout(Settings(CHECKOUT / ".kappa"), CHECKOUT).jar_cache
    try:
        jars.fetch([jar], jars.repository(os.environ), cache, {jar.group: folder / "jars"})
    except JarUnreachable as away:
        pytest.skip(f"no server for the test: {away}")
    return folder / "jars" / jar.name


@contextmanager
def running(command: Sequence[str], folder: Path, is_up: Callable[[], bool]) -> Iterator[None]:
    """The server while the body runs, once it is up; what it says is in the file `log`."""
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder, stdin=subprocess.DEVNULL)
    try:
        assert until(is_up, PATIENCE_SECONDS), (folder / "log").read_text()
        yield
    finally:
        server.kill()
        server.wait()
