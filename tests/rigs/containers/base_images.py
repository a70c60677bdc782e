"""Base images made here, in the place of the official ones: a Debian by debootstrap, with this machine's settings of
apt, pip and certificates, and Postgres 18 with TLS on it."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path

from cli.entry import CHECKOUT
from kappa.core.installation.settings import Settings
from stack.layout import Layout
from stack.services import jars
from tests.rigs.containers.engine import Engine
from tests.rigs.lab.parts import WITH_TLS

DEBIAN, POSTGRES = "localhost/kappa/base:bookworm", "localhost/kappa/postgres-base:18"
SETTINGS_OF_CLIENTS = (
    "etc/apt/sources.list.d/debian.sources", "etc/pip.conf", "etc/ssl/certs/ca-certificates.crt",
    "usr/local/share/ca-certificates",
)  # fmt: skip
POSTGRES_ON_IT = f"""\
FROM {DEBIAN}
COPY root /usr/lib/postgresql/18
ENV PATH=/usr/lib/postgresql/18/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
"""
"""As the official image has them: its programs on the PATH."""


def ensure(engine: Engine) -> None:
    """Both images, each unless it is there."""
    with tempfile.TemporaryDirectory(prefix="kappa-base-") as made:
        if not engine.has(DEBIAN):
            _debian(engine, Path(made) / "debian")
        if not engine.has(POSTGRES):
            _postgres(engine, Path(made) / "postgres")


def _debian(engine: Engine, root: Path) -> None:
    mirror = _mirror()
    engine.run("debootstrap", "--variant=minbase", "bookworm", str(root), *([mirror] if mirror else []), seconds=1200)
    for name in SETTINGS_OF_CLIENTS:
        here, there = Path("/") / name, root / name
        there.parent.mkdir(parents=True, exist_ok=True)
        if here.is_dir():
            shutil.copytree(here, there, dirs_exist_ok=True)
        elif here.exists():
            shutil.copyfile(here, there)
    (root / "etc" / "uv").mkdir()
    (root / "etc" / "uv" / "uv.toml").write_text("system-certs = true\n")
    with subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE) as packed:
        subprocess.run(
            ["podman", "import", "-", DEBIAN], stdin=packed.stdout, env=dict(engine.environment), check=True,
            capture_output=True,
        )  # fmt: skip


def _mirror() -> str | None:
    """Where this machine has its Debian packages from; None: where debootstrap looks by itself."""
    sources = Path("/etc/apt/sources.list.d/debian.sources")
    found = re.search(r"^URIs: *(\S+)", sources.read_text(), re.M) if sources.exists() else None
    return found[1] if found else None


def _postgres(engine: Engine, context: Path) -> None:
    cache = Layout(Settings(CHECKOUT / ".kappa"), CHECKOUT).jar_cache
    jars.fetch([WITH_TLS], jars.repository(os.environ), cache, {"postgres": context})
    with zipfile.ZipFile(context / WITH_TLS.name) as jar:
        packed = next(name for name in jar.namelist() if name.endswith(".txz"))
        with tarfile.open(fileobj=io.BytesIO(jar.read(packed)), mode="r:xz") as archive:
            archive.extractall(context / "root", filter="tar")
    (context / WITH_TLS.name).unlink()
    (context / "Dockerfile").write_text(POSTGRES_ON_IT)
    engine.run("podman", "build", "-q", "-t", POSTGRES, str(context))
