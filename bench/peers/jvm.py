"""What the peers on the JVM are started from: their jars, their few classes, and how they reach Postgres and Kafka."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

from cli.entry import CHECKOUT
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from stack.layout import Layout
from stack.services import jars
from stack.services.postgres import OWNER
from stack.services.spark import java

LOCK = Path(__file__).with_name("peers.lock")
SOURCES = Path(__file__).with_name("java")
COMPILER, RELEASE = "compiler", 17
OPENED = (
    "java.base/java.lang", "java.base/java.lang.reflect", "java.base/java.net", "java.base/java.io",
    "java.base/java.nio", "java.base/sun.nio.ch", "java.base/java.text", "java.base/java.time", "java.base/java.util",
    "java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic", "java.base/java.util.concurrent.locks",
    "java.base/sun.net.util", "java.base/sun.security.action",
)  # fmt: skip
"""What Flink's own start scripts open to it on a newer JVM."""


class NotCompiled(Refusal):
    """The classes of a peer could not be made."""

    def __init__(self, group: str, said: str) -> None:
        super().__init__(
            f"the classes of '{group}' were not compiled; nothing was measured. Java {RELEASE} or newer is needed. "
            f"The compiler said: {said.strip()[-1500:]}"
        )


def classpath(settings: Settings, group: str, sources: Sequence[str]) -> str:
    """The jars of a group and these sources compiled, for `java -cp`; both are made on first use and kept in the state
    folder. Raises JarUnreachable, JarDamaged, NoJava, NotCompiled."""
    layout, folder = Layout(settings, CHECKOUT), settings.home / "peers"
    folders = {COMPILER: folder / COMPILER, group: folder / group}
    jars.fetch(jars.read(LOCK), jars.repository(os.environ), layout.jar_cache, folders)
    files = [SOURCES / name for name in sources]
    libraries = sorted(folders[group].glob("*.jar"))
    classes = folder / f"{group}-classes-{digest(files)[:16]}"
    if not classes.exists():
        (compiler,) = folders[COMPILER].glob("*.jar")
        _compile(group, [java(layout), "-jar", str(compiler)], libraries, files, classes)
    return os.pathsep.join(map(str, [classes, *libraries]))


def command(settings: Settings, path: str, main: str, *arguments: str, heap_mb: int) -> list[str]:
    """The command line of a JVM that runs one of the classes. It finds the password of the tables' owner in a file, so
    that none is in a command line. Raises NoJava."""
    opened = [f"--add-opens={package}=ALL-UNNAMED" for package in OPENED]
    password = f"-Dorg.postgresql.pgpassfile={settings.passfile(OWNER)}"
    return [java(Layout(settings, CHECKOUT)), f"-Xmx{heap_mb}m", *opened, password, "-cp", path, main, *arguments]


def database_url(settings: Settings) -> str:
    """The database, for JDBC; its password is in a file."""
    server = settings.database_server
    query = urlencode({"user": OWNER, "sslmode": server.sslmode, "reWriteBatchedInserts": "true"})
    return f"jdbc:postgresql://{server.host}:{server.port}/{settings.database}?{query}"


def kafka(settings: Settings) -> dict[str, str]:
    """How Kafka's Java clients reach it; they take the password from the user's file themselves."""
    options = settings.kafka_access(KafkaUser.ADMIN).spark()
    return {name.removeprefix("kafka."): value for name, value in options.items()}


def digest(files: Sequence[Path]) -> str:
    """Of some files' contents."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _compile(
    group: str, compiler: Sequence[str], libraries: Sequence[Path], files: Sequence[Path], classes: Path
) -> None:
    """By a compiler that is a jar, so that the Java Runtime is enough; the folder has its name once all is in it."""
    new = classes.with_name(f"{classes.name}.{os.getpid()}.new")
    shutil.rmtree(new, ignore_errors=True)
    path = os.pathsep.join(map(str, libraries))
    argv = [*compiler, f"-{RELEASE}", "-nowarn", "-cp", path, "-d", str(new), *map(str, files)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotCompiled(group, done.stdout + done.stderr)
    new.replace(classes)
