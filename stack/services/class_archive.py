"""The classes that a Spark driver loads, parsed once and mapped into every JVM since: a third of the CPU of a start.

A dynamic class-data archive of the JVM (JEP 350). A JVM that finds no archive at the place it was told, or one of
another Java or other jars, starts as it would without.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from kappa.core.installation.settings import from_environment
from kappa.core.spark_environment import OF_ITS_OWN_PROCESS, environment, search_path
from stack.layout import Layout
from stack.services import spark_jar
from stack.services.spark import java, spark_home

LONGEST_SECONDS = 900
LAST = 19
"""The nice value of what comes after all else."""
_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


def place(layout: Layout) -> Path:
    """The archive of this Java and these jars, shared by all state folders of a checkout. Raises NoJava."""
    jars = sorted((spark_home() / "jars").glob("*.jar"))
    home = Path(java(layout)).resolve().parents[1]
    release = (home / "release").read_text() if (home / "release").exists() else ""
    parts = [str(home), release, *(f"{jar} {jar.stat().st_size} {jar.stat().st_mtime_ns}" for jar in jars)]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return layout.cache / "classes" / f"{key}.jsa"


def name(layout: Layout) -> Path:
    """Give the archive the name in the state folder that every JVM is told, whether it is there already or not."""
    archive, named = place(layout), layout.settings.class_archive
    named.parent.mkdir(parents=True, exist_ok=True)
    if not named.is_symlink() or named.readlink() != archive:
        named.unlink(missing_ok=True)
        named.symlink_to(archive)
    return archive


def begin(layout: Layout) -> None:
    """Name the archive, and have a process make it, after whatever else wants the processors, if it is not there."""
    if name(layout).exists():
        return
    with (layout.logs / "class-archive.log").open("ab") as log:
        begun = subprocess.Popen(
            [layout.python, "-m", "stack.services.class_archive"], cwd=layout.checkout,
            env={**layout.surroundings, "PYTHONPATH": search_path(layout.checkout)}, stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    give_way(begun.pid)


def give_way(leader: int) -> None:
    """Let all else have the processors before a process that leads a session.

    Where Linux shares them out by session (autogroup, sched(7)), its nice value counts within its own session only,
    which would have as much of them as the whole stack.
    """
    os.setpriority(os.PRIO_PROCESS, leader, LAST)
    with suppress(OSError):
        Path(f"/proc/{leader}/autogroup").write_text(str(LAST))


def make(layout: Layout) -> None:
    """Make the archive unless it is there; who comes while another process makes it waits for that. Those of another
    Java or other jars end with it.

    Raises CalledProcessError, TimeoutExpired.
    """
    archive = place(layout)
    archive.parent.mkdir(parents=True, exist_ok=True)
    with archive.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        name(layout)
        if not archive.exists():
            _rehearse(layout, archive)
            _remove_others(archive)


def _rehearse(layout: Layout, archive: Path) -> None:
    """The archive gets its name when it is whole on the disk: a torn one ends a JVM."""
    new = archive.with_suffix(f".{os.getpid()}.new")
    try:
        rehearsal = [layout.python, "-m", "jobs.rehearsal"]
        subprocess.run(rehearsal, check=True, env=_environment(layout, new), timeout=LONGEST_SECONDS)
        with new.open("rb") as whole:
            os.fsync(whole.fileno())
        new.replace(archive)
    finally:
        new.unlink(missing_ok=True)


def _remove_others(archive: Path) -> None:
    """A JVM that mapped one of them goes on with it; one that starts finds none and does without."""
    for other in archive.parent.iterdir():
        if other.stem != archive.stem:
            other.unlink(missing_ok=True)


def _environment(layout: Layout, new: Path) -> Mapping[str, str]:
    options = f"{_OPTIONS} -XX:ArchiveClassesAtExit={new}"
    submit = f"--master local[1] --jars '{spark_jar.JAR}' --driver-java-options '{options}'"
    local = " ".join(f"--conf {name}={value}" for name, value in OF_ITS_OWN_PROCESS.items())
    program = environment(layout.checkout, layout.python)
    return {**layout.surroundings, **program, "PYSPARK_SUBMIT_ARGS": f"{submit} {local} pyspark-shell"}


if __name__ == "__main__":
    checkout = Path(__file__).resolve().parents[2]
    make(Layout(from_environment(checkout), checkout))
