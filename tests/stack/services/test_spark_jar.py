"""The jar of our own for Spark is the one that its sources give."""

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
from stack.services import jars, spark_jar


def test_the_jar_was_built_of_the_sources_as_they_are() -> None:
    assert len(spark_jar.SOURCES) == 3
    for source in spark_jar.SOURCES:
        with zipfile.ZipFile(spark_jar.JAR) as jar:
            held = jar.read(f"{spark_jar.PACKAGE}/{source.name}")
        assert held == source.read_bytes(), "build it anew: python -m stack.services.spark_jar"


def test_a_compiler_makes_the_very_jar_of_the_sources(tmp_path: Path) -> None:
    if not (javac := shutil.which("javac")):
        pytest.skip("no javac on PATH: the jar was not compared with what the sources compile to")
    said = subprocess.run([javac, "-version"], capture_output=True, text=True, check=True).stdout
    if re.findall(r"\d+", said)[:1] != [str(spark_jar.RELEASE)]:
        pytest.skip(f"{said.strip()} is not the compiler of the jar, and another may write other bytes")
    cache = Layout(Settings(CHECKOUT / ".kappa"), CHECKOUT).jar_cache
    s3a = [jar for jar in jars.read() if jar.name.startswith("hadoop-aws-")]
    jars.fetch(s3a, jars.repository(os.environ), cache, {"s3": tmp_path})
    assert spark_jar.build(tmp_path) == spark_jar.JAR.read_bytes()


def test_an_older_jar_is_replaced_and_the_same_is_left(tmp_path: Path) -> None:
    target = tmp_path / spark_jar.JAR.name
    target.write_bytes(b"older")
    spark_jar.put(tmp_path)
    put = target.stat().st_ino
    assert target.read_bytes() == spark_jar.JAR.read_bytes()
    spark_jar.put(tmp_path)
    assert target.stat().st_ino == put
    assert [file.name for file in tmp_path.iterdir()] == [target.name]
