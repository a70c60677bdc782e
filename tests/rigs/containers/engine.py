"""Containers for real without a Docker daemon: podman behind a socket that the docker command speaks to, with storage
of its own, and docker compose built from its Go module."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cli.entry import CHECKOUT
from stack.provisioning import providers
from stack.provisioning.providers import COMPOSE
from stack.waiting import until

PROGRAMS = ("podman", "runc", "catatonit", "iptables", "debootstrap", "docker", "go")
PLUGINS = ("netavark", "aardvark-dns")
PLUGIN_FOLDERS = (Path("/usr/lib/podman"), Path("/usr/libexec/podman"))
PACKAGES = "podman runc catatonit netavark aardvark-dns iptables debootstrap"
HEALTH_SECONDS = 5.0
SHARES = 8192
# podman's limits by default are more than a machine without CAP_SYS_RESOURCE may give; crun refuses hybrid cgroups.
CONTAINERS = """\
[containers]
default_ulimits = ["nofile=10000:10000", "nproc=10000:10000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
STORAGE = '[storage]\ndriver = "overlay"\ngraphroot = "{folder}/images"\nrunroot = "{run}"\n'


def missing() -> str:
    """Why there can be no containers on this machine; empty where there can."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    lacking += [name for name in PLUGINS if not any((folder / name).exists() for folder in PLUGIN_FOLDERS)]
    if os.geteuid() != 0:
        return "SKIPPED: docker-compose.yml was not run: containers without a Docker daemon need root"
    if lacking:
        return (
            f"SKIPPED: docker-compose.yml was not run: no {', '.join(lacking)} here. On Debian: apt install "
            f"{PACKAGES}; the docker command and Go are installed by hand"
        )
    return ""


@dataclass(frozen=True)
class Engine:
    """A running engine; `environment` is what podman and the docker command find it by."""

    environment: Mapping[str, str]

    def run(self, *command: str, cwd: Path | None = None, seconds: float = 600) -> str:
        """Run a program to its end; what it wrote to stdout. Fails with all that it said."""
        done = subprocess.run(
            command, env=dict(self.environment), cwd=cwd, capture_output=True, text=True, timeout=seconds,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, (
            f"{' '.join(command)}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        )
        return done.stdout

    def has(self, image: str) -> bool:
        """Whether there is an image of this name."""
        return not subprocess.run(["podman", "image", "exists", image], env=dict(self.environment)).returncode


@contextmanager
def engine(cache: Path) -> Iterator[Engine]:
    """An engine for as long as the body runs; images stay in `cache`."""
    with tempfile.TemporaryDirectory(prefix="kappa-engine-") as made:
        run = Path(made)
        cache.mkdir(parents=True, exist_ok=True)
        (run / "containers.conf").write_text(CONTAINERS)
        (run / "storage.conf").write_text(STORAGE.format(folder=cache, run=run / "run"))
        plugins = run / "docker" / "cli-plugins"
        plugins.mkdir(parents=True)
        (plugins / "docker-compose").symlink_to(built_compose())
        socket = run / "podman.sock"
        environment = {
            **os.environ,
            "CONTAINERS_CONF": str(run / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(run / "storage.conf"),
            "DOCKER_CONFIG": str(run / "docker"),
            "DOCKER_HOST": f"unix://{socket}",
            "DOCKER_BUILDKIT": "0",
            "COMPOSE_BAKE": "false",
        }
        command = ["podman", "system", "service", "-t", "0", f"unix://{socket}"]
        # It says of each health check that there is no systemd, which is why we run them.
        service = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            assert until(socket.exists, 30), "podman's service did not come up"
            _share(SHARES)
            with _looked_after(environment):
                yield Engine(environment)
        finally:
            service.terminate()
            service.wait(30)


def built_compose() -> Path:
    """The command docker compose, built once for each user."""
    (mirror,) = providers.build(CHECKOUT, os.environ, print, [COMPOSE])
    return COMPOSE.file(mirror)


def _share(shares: int) -> None:
    """All containers together are one of many to the scheduler of a busy machine: give them what several get."""
    parent = Path("/sys/fs/cgroup/cpu/libpod_parent")
    if parent.parent.exists():
        parent.mkdir(exist_ok=True)
        (parent / "cpu.shares").write_text(str(shares))


@contextmanager
def _looked_after(environment: Mapping[str, str]) -> Iterator[None]:
    """Have health checks run, which podman leaves to systemd."""
    over = threading.Event()

    def ask(*words: str) -> str:
        done = subprocess.run(["podman", *words], env=dict(environment), capture_output=True, text=True)
        return done.stdout

    def look() -> None:
        while not over.wait(HEALTH_SECONDS):
            for container in ask("ps", "-q").split():
                ask("healthcheck", "run", container)

    looking = threading.Thread(target=look, name="health", daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join(60)
