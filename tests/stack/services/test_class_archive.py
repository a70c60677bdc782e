"""Classes that were archived once are mapped by each JVM that starts as a driver does."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import sleep

import pytest

from kappa.core.installation.settings import Settings
from stack.layout import Layout
from stack.services import class_archive
from tests.rigs.staged_driver import SPARK_SUBMIT

SPARK = "org.apache.spark.deploy.SparkSubmit "
AUTOGROUP = Path("/proc/self/autogroup")


@pytest.mark.rig
@pytest.mark.timeout(900, func_only=True)
def test_a_jvm_that_starts_as_a_driver_does_maps_them(parts: Layout, tmp_path: Path) -> None:
    class_archive.make(parts)
    loaded = _loaded(parts.settings.class_archive, tmp_path)
    assert "source: shared objects file (top)" in loaded[SPARK]


def test_without_the_archive_it_starts_all_the_same(tmp_path: Path) -> None:
    loaded = _loaded(tmp_path / "none.jsa", tmp_path)
    assert "source: file:" in loaded[SPARK]


def test_of_two_who_want_it_one_makes_it_and_the_other_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout, made, going_on = Layout(Settings(tmp_path / "state"), tmp_path), [], Event()

    def rehearse(_: Layout, archive: Path) -> None:
        made.append(archive)
        assert going_on.wait(30)
        archive.touch()

    monkeypatch.setattr(class_archive, "_rehearse", rehearse)
    with ThreadPoolExecutor(2) as threads:
        wanted = [threads.submit(class_archive.make, layout) for _ in range(2)]
        sleep(0.2)
        assert not any(one.done() for one in wanted)
        going_on.set()
        for one in wanted:
            one.result(30)
    assert len(made) == 1
    assert layout.settings.class_archive.readlink() == made[0]


def test_the_archive_of_another_java_ends_where_a_new_one_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(Settings(tmp_path / "state"), tmp_path)
    archive = class_archive.place(layout)
    archive.parent.mkdir(parents=True)
    of_another = [archive.with_name(name) for name in ("0123456789abcdef.jsa", "0123456789abcdef.lock")]
    for file in of_another:
        file.touch()
    monkeypatch.setattr(class_archive, "_rehearse", lambda _, archive: archive.touch())
    class_archive.make(layout)
    assert archive.exists()
    assert not any(file.exists() for file in of_another)


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="this Linux shares processors out by process only")
def test_a_session_that_gives_way_comes_last_among_sessions_too() -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        class_archive.give_way(process.pid)
        told = Path(f"/proc/{process.pid}/autogroup").read_text()
        rank = os.getpriority(os.PRIO_PROCESS, process.pid)
        process.kill()
    assert told.split()[-2:] == ["nice", "19"]
    assert rank == class_archive.LAST


def _loaded(archive: Path, folder: Path) -> dict[str, str]:
    """Where each class of Spark's launcher came from."""
    log = folder / "classes"
    options = f"-XX:SharedArchiveFile={archive} -Xlog:class+load:file={log}"
    command = [str(SPARK_SUBMIT), "--driver-java-options", options, "--version"]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"})
    found = [line for line in log.read_text().splitlines() if SPARK in line]
    return {SPARK: found[0]}
