"""The jar by which Spark keeps checkpoints is the one that its sources give."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from kappa.core.installation.settings import Settings
from stack.layout import Layout
from stack.services import checkpoint_files, jars


def test_the_jar_was_built_of_the_sources_as_they_are() -> None:
    assert len(checkpoint_files.SOURCES) == 2
    for source in checkpoint_files.SOURCES:
        with zipfile.ZipFile(checkpoint_files.JAR) as jar:
            held = jar.read(f"{checkpoint_files.PACKAGE}/{source.name}")
        assert held == source.read_bytes(), "build it anew: python -m stack.services.checkpoint_files"


def test_a_compiler_makes_the_very_jar_of_the_sources(tmp_path: Path) -> None:
    if not (javac := shutil.which("javac")):
        pytest.skip("no javac on PATH: the jar was not compared with what the sources compile to")
    said = subprocess.run([javac, "-version"], capture_output=True, text=True, check=True).stdout
    if re.findall(r"\d+", said)[:1] != [str(checkpoint_files.RELEASE)]:
        pytest.skip(f"{said.strip()} is not the compiler of the jar, and another may write other bytes")
    cache = Layout(Settings(CHECKOUT / ".kappa"), CHECKOUT).jar_cache
    s3a = [jar for jar in jars.read() if jar.name.startswith("hadoop-aws-")]
    jars.fetch(s3a, jars.repository(os.environ), cache, {"s3": tmp_path})
    assert checkpoint_files.build(tmp_path) == checkpoint_files.JAR.read_bytes()


def test_an_older_jar_is_replaced_and_the_same_is_left(tmp_path: Path) -> None:
    target = tmp_path / checkpoint_files.JAR.name
    target.write_bytes(b"older")
    checkpoint_files.put(tmp_path)
    put = target.stat().st_ino
    assert target.read_bytes() == checkpoint_files.JAR.read_bytes()
    checkpoint_files.put(tmp_path)
    assert target.stat().st_ino == put
    assert [file.name for file in tmp_path.iterdir()] == [target.name]
