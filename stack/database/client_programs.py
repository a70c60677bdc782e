"""Finds pg_dump and pg_restore where they can speak with the installation's server, and runs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psycopg

from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.unavailable import Unreachable
from stack.services import postgres

LOOK_EVERY_SECONDS = 0.5
CONNECT_SECONDS = 10
PLAIN = ("disable", "allow", "prefer")
"""The values of `sslmode` that a libpq without TLS takes, too."""
VERSION = re.compile(r"\(PostgreSQL\) (\d+)")


class NoClientProgram(Refusal):
    """No program of Postgres is there that can speak with the server."""

    def __init__(self, name: str, sslmode: str, server: int, found: str) -> None:
        super().__init__(
            f"{name} must speak TLS, for postgres.sslmode is {sslmode!r}, and be of the server's version, {server}, or "
            f"newer; on PATH is {found}. Nothing was changed. Install Debian's package postgresql-client-{server} "
            f"(PostgreSQL has it where Debian has not), with /usr/lib/postgresql/{server}/bin first on PATH."
        )


class ToolFailed(Refusal):
    """pg_dump or pg_restore ended with an error."""

    def __init__(self, tool: str, said: str) -> None:
        super().__init__(f"{tool} failed: {said}. The database is as it was.")
        self.said = said


def find(settings: Settings, name: str) -> Path:
    """The program of this name: that of PATH where the settings ask for TLS, which the embedded server's programs are
    built without, else the embedded server's. Raises NoClientProgram, Unreachable."""
    sslmode = settings.database_server.sslmode
    if settings.is_embedded or sslmode in PLAIN:
        return postgres.binaries() / name
    server = server_major(settings)
    path = shutil.which(name)
    if path is None:
        raise NoClientProgram(name, sslmode, server, "none")
    version = _said_version(path)
    told = VERSION.search(version)
    if told is None or int(told[1]) < server:
        raise NoClientProgram(name, sslmode, server, f"{path}, which says {version!r}")
    return Path(path).absolute()


def server_major(settings: Settings) -> int:
    """The server's version, such as 18. Raises Unreachable."""
    try:
        with psycopg.connect(settings.dsn("kappa_owner"), connect_timeout=CONNECT_SECONDS) as connection:
            return connection.info.server_version // 10_000
    except psycopg.OperationalError as error:
        raise Unreachable("Postgres", settings.database_address, error) from error


def run(program: Path, arguments: Sequence[str], look: Callable[[], None] = lambda: None) -> str:
    """What a program of Postgres prints; what it has done is looked at from time to time. Raises ToolFailed."""
    with subprocess.Popen(
        [str(program), "--no-password", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_ENVIRONMENT,
    ) as running:  # fmt: skip
        while True:
            try:
                printed, said = running.communicate(timeout=LOOK_EVERY_SECONDS)
                break
            except subprocess.TimeoutExpired:
                with suppress(OSError, psycopg.Error):
                    look()
    if running.returncode:
        raise ToolFailed(program.name, _last(said))
    return printed


def _said_version(path: str) -> str:
    """What the program says of its version, or what it fails with."""
    try:
        ended = subprocess.run([path, "--version"], capture_output=True, text=True, env=_ENVIRONMENT, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (ended.stdout or ended.stderr).strip()


def _last(said: str) -> str:
    """The last line, without the program's name."""
    lines = said.strip().splitlines()
    return lines[-1].partition("error: ")[2].removesuffix(".") or lines[-1] if lines else "it said nothing"


_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C"}
"""No PGHOST, PGSERVICE or the like of whoever calls decides which server is meant."""
