"""The jar of our own for Spark, which keeps checkpoints and evicts: its Java sources, and how it is built of them.

It is kept built, beside the source, so that nobody needs a compiler. After a change of the source:
`python -m stack.services.spark_jar`
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from kappa.core.installation.settings import Settings
from kappa.core.spark_environment import SPARK_JAR
from stack.layout import Layout
from stack.services import jars
from stack.services.spark import spark_home

FOLDER = Path(__file__).with_name("spark_java")
SOURCES = tuple(sorted(FOLDER.glob("*.java")))
JAR = FOLDER / SPARK_JAR
PACKAGE = "kappa"
RELEASE = 17
MANIFEST = f"Manifest-Version: 1.0\r\nBuild-Jdk-Spec: {RELEASE}\r\n\r\n"
USED = (
    "hadoop-client-api-*.jar", "spark-sql_*.jar", "spark-sql-api_*.jar", "spark-catalyst_*.jar",
    "spark-common-utils_*.jar", "scala-library-*.jar",
)  # fmt: skip
EPOCH = (1980, 1, 1, 0, 0, 0)


def is_in(folder: Path) -> bool:
    """Whether the jar of this release is there."""
    held = folder / JAR.name
    return held.exists() and held.read_bytes() == JAR.read_bytes()


def put(folder: Path) -> None:
    """Put the jar where Spark looks for jars."""
    target = folder / JAR.name
    if not is_in(folder):
        new = target.with_name(f"{target.name}.{os.getpid()}.new")
        shutil.copyfile(JAR, new)
        new.replace(target)


def build(s3a: Path) -> bytes:
    """The jar of the present sources, which it holds, too; the same bytes from the same compiler.

    `s3a` is the folder of Hadoop's S3A. Raises CalledProcessError where they cannot be compiled.
    """
    needed = [*(jar for name in USED for jar in (spark_home() / "jars").glob(name)), *s3a.glob("hadoop-aws-*.jar")]
    with tempfile.TemporaryDirectory() as folder:
        classpath = os.pathsep.join(map(str, needed))
        command = ["javac", "--release", str(RELEASE), "-nowarn", "-cp", classpath, "-d", folder, *map(str, SOURCES)]
        subprocess.run(command, check=True, capture_output=True)
        classes = {file.name: file.read_bytes() for file in sorted((Path(folder) / PACKAGE).glob("*.class"))}
    return _packed({**{source.name: source.read_bytes() for source in SOURCES}, **classes})


def _packed(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as jar:
        jar.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF", EPOCH), MANIFEST)
        for name, data in files.items():
            jar.writestr(zipfile.ZipInfo(f"{PACKAGE}/{name}", EPOCH), data)
    return packed.getvalue()


def main() -> int:
    """Build the jar anew."""
    checkout = Path(__file__).resolve().parents[2]
    cache = Layout(Settings(checkout / ".kappa"), checkout).jar_cache
    with tempfile.TemporaryDirectory() as folder:
        jars.fetch(jars.read(), jars.repository(os.environ), cache, {"s3": Path(folder)})
        JAR.write_bytes(build(Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
