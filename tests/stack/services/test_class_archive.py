"""Classes that were archived once are mapped by each JVM that starts as a driver does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from stack.layout import Layout
from stack.services import class_archive
from tests.rigs.staged_driver import SPARK_SUBMIT

SPARK = "org.apache.spark.deploy.SparkSubmit "


@pytest.mark.rig
@pytest.mark.timeout(900, func_only=True)
def test_a_jvm_that_starts_as_a_driver_does_maps_them(parts: Layout, tmp_path: Path) -> None:
    class_archive.make(parts)
    loaded = _loaded(parts.settings.class_archive, tmp_path)
    assert "source: shared objects file (top)" in loaded[SPARK]


def test_without_the_archive_it_starts_all_the_same(tmp_path: Path) -> None:
    loaded = _loaded(tmp_path / "none.jsa", tmp_path)
    assert "source: file:" in loaded[SPARK]


def _loaded(archive: Path, folder: Path) -> dict[str, str]:
    """Where each class of Spark's launcher came from."""
    log = folder / "classes"
    options = f"-XX:SharedArchiveFile={archive} -Xlog:class+load:file={log}"
    command = [str(SPARK_SUBMIT), "--driver-java-options", options, "--version"]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"})
    found = [line for line in log.read_text().splitlines() if SPARK in line]
    return {SPARK: found[0]}
