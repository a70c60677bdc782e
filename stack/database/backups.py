"""Backups of the stack's database, by pg_dump, and their return, as one exchange of two databases.

A backup is one file: the registry, the served numbers, the clients. It has neither the log nor the checkpoints: a
driver whose checkpoint is ahead of a database that came back refuses to start, and names the replay that mends it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from psycopg import sql

from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from stack import disk, schema
from stack.database import client_programs
from stack.database.client_programs import ToolFailed
from stack.services import postgres
from stack.services.passwords import SUPERUSER
from stack.waiting import until

Tell = Callable[[int], None]
"""Is given the bytes of the file, or of the database, that are written so far."""
LEAVING_SECONDS = 5
GROWS_BY = 8
"""A database takes at most about so many times the room of its backup, which is compressed and has no indexes."""


class BackupExists(Refusal):
    """The file is there already."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file} exists, and a backup never replaces a file. Nothing was changed. Name another one.")


class NotABackup(Refusal):
    """The file is no backup of this system."""

    def __init__(self, file: Path, why: str) -> None:
        super().__init__(
            f"{file} is no backup of a Kappa Ads database: {why}. Nothing was changed. Name a file that "
            "'./kappa db backup' has made."
        )


class NoBackupWritten(Refusal):
    """A backup's file cannot be made where it should lie."""

    def __init__(self, file: Path, problem: OSError) -> None:
        super().__init__(
            f"the backup {file} cannot be written: {problem.strerror}. Nothing was changed. Name a file in a folder "
            "that exists and that you may write in."
        )


class StillInUse(Refusal):
    """Drivers write, or a run acts, in the database that is to be replaced."""

    def __init__(self, users: Sequence[str]) -> None:
        super().__init__(
            f"the database is in use: {'; '.join(users)}. Nothing was changed. Stop each job ('./kappa stop JOB') and "
            "wait for runs to end, then try again."
        )


@dataclass(frozen=True)
class Restored:
    """What came back: its revision then, the migrations that it was given, and the name of the database that it
    replaced."""

    revision: str | None
    migrated: tuple[str, ...]
    replaced: str


def backup(settings: Settings, file: Path, tell: Tell = lambda _: None) -> int:
    """Write the database as it is at one moment into a new file that only its owner may read; returns its bytes.

    Everything may run meanwhile. Raises BackupExists, NoClientProgram, Unreachable, NoBackupWritten, ToolFailed.
    """
    if file.exists():
        raise BackupExists(file)
    pg_dump = client_programs.find(settings, "pg_dump")
    part = _begun(file)
    try:
        client_programs.run(pg_dump, ["--format=custom", f"--file={part}", f"--dbname={settings.dsn('kappa_owner')}"],
                            lambda: tell(part.stat().st_size))  # fmt: skip
        os.link(part, file)
    except FileExistsError:
        raise BackupExists(file) from None
    finally:
        part.unlink()
    return file.stat().st_size


def _begun(file: Path) -> Path:
    """An empty file beside it, which only its owner may read. Raises NoBackupWritten."""
    part = file.with_name(f".{file.name}.part")
    try:
        part.touch(mode=0o600)
        part.chmod(0o600)
    except OSError as error:
        raise NoBackupWritten(file, error) from error
    return part


def restore(settings: Settings, file: Path, tell: Tell = lambda _: None) -> Restored:
    """Put a backup in the place of the database, which is kept under another name.

    The backup is read into a new database and migrated there; then both change names in one transaction, so that it is
    one or the other at any moment. Raises NoClientProgram, Unreachable, NotABackup, StillInUse, DiskFull,
    DatabaseNewer, ToolFailed.
    """
    pg_restore = client_programs.find(settings, "pg_restore")
    _check_file(pg_restore, file)
    disk.check(settings.home, GROWS_BY * file.stat().st_size)
    _check_unused(settings)
    new = replace(settings, database=f"{settings.database}_restored")
    with _new_database(new):
        into = f"--dbname={new.dsn(SUPERUSER)}"
        client_programs.run(pg_restore, ["--exit-on-error", "--single-transaction", into, str(file)],
                            lambda: tell(_size(new)))  # fmt: skip
        was = schema.revision(new)
        migrated = schema.migrate(new)
        replaced = f"{settings.database}_before_{datetime.now(UTC):%Y%m%dt%H%M%Sz}"
        _exchange(settings, new.database, replaced)
    return Restored(was, migrated, replaced)


def committed(settings: Settings) -> list[tuple[str, int, datetime | None]]:
    """Per job its live version and when that committed last (UTC), by the registry."""
    with psycopg.connect(settings.dsn("kappa_operator")) as connection:
        connection.execute("set timezone = 'UTC'")
        return connection.execute(
            "select s.job, s.version, max(b.committed_at) from ops.segments s left join ops.batches b "
            "using (job, version) where s.to_window = 'infinity' group by 1, 2 order by 1"
        ).fetchall()


def _check_file(pg_restore: Path, file: Path) -> None:
    """Raises NotABackup."""
    try:
        held = client_programs.run(pg_restore, ["--list", str(file)])
    except ToolFailed as failed:
        raise NotABackup(file, failed.said) from None
    if " TABLE registry job_version " not in held:
        raise NotABackup(file, "it has no table registry.job_version")


def _check_unused(settings: Settings) -> None:
    """Raises StillInUse. A driver that has just ended is connected for another moment."""
    with psycopg.connect(settings.dsn(SUPERUSER), autocommit=True) as connection:
        until(lambda: not connection.execute(_USERS).fetchone(), LEAVING_SECONDS)
        if users := [user for (user,) in connection.execute(_USERS)]:
            raise StillInUse(users)


@contextmanager
def _new_database(settings: Settings) -> Iterator[None]:
    """An empty database of that name, which is gone after a failure."""
    _drop(settings)
    postgres.ensure_roles(settings)
    try:
        yield
    except BaseException:
        with suppress(psycopg.Error):
            _drop(settings)
        raise


def _drop(settings: Settings) -> None:
    """Have no database of that name."""
    with _server(settings) as server:
        server.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(settings.database)))


def _exchange(settings: Settings, new: str, replaced: str) -> None:
    """Give the database another name, and its name to the new one; whoever is connected has to connect again."""
    allow, rename = sql.SQL("alter database {} with allow_connections {}"), sql.SQL("alter database {} rename to {}")
    name = old = sql.Identifier(settings.database)
    with _server(settings) as server:
        server.execute(allow.format(old, sql.SQL("false")))
        try:
            server.execute(
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = any(%s)",
                [[settings.database, new]],
            )
            with server.transaction():
                server.execute(rename.format(name, sql.Identifier(replaced)))
                server.execute(rename.format(sql.Identifier(new), name))
            old = sql.Identifier(replaced)
        finally:
            server.execute(allow.format(old, sql.SQL("true")))


@contextmanager
def _server(settings: Settings) -> Iterator[psycopg.Connection]:
    """The superuser, beside the databases; each statement by itself."""
    with psycopg.connect(settings.dsn(SUPERUSER, "postgres"), autocommit=True, connect_timeout=10) as connection:
        yield connection


def _size(settings: Settings) -> int:
    with _server(settings) as server:
        row = server.execute("select pg_database_size(%s)", [settings.database]).fetchone()
    return int(row[0]) if row else 0


_USERS = """
select format('%s v%s runs', job, version) from registry.launch where ended_at is null
union all select format('%s acts on %s', verb, job) from registry.lease where ends_at > clock_timestamp()
union all select distinct 'role kappa_writer is connected' from pg_stat_activity
where datname = current_database() and usename = 'kappa_writer'"""
