"""The commands `db roles`, `db migrate`, `db backup` and `db restore`: the stack's database as a whole."""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from cli.entry import settings
from cli.options import DryRun, Json, Reason, reason_required
from cli.output import err, working
from kappa.core.audit import Author, Entry, in_place_id
from kappa.core.installation.settings import ROLES, Settings
from kappa.registry.postgres import PostgresRegistry
from stack import schema
from stack.database import backups
from stack.services import postgres

MEGA = 1_000_000
db = typer.Typer(help="The database: roles, migrate, back up, restore.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.add_typer(db, name="db")


@db.command("roles")
def roles() -> None:
    """Make the roles and databases, each role with the password of its file; once, and for a new password.

    By the superuser, whose password is in postgres.pgpass of the secrets folder; './kappa up' does it, too.
    """
    installation = settings()
    postgres.ensure_roles(installation)
    err.print(f"{', '.join(ROLES)} may log in to {installation.database_address} by their files")


@db.command("migrate")
def migrate(dry_run: DryRun = False, as_json: Json = False) -> None:
    """Bring the schema to what this code works with, while jobs run; './kappa up' does it, too.

    Drivers of the version before go on with the new schema. Refused where the database is newer than the code.
    """
    stack = settings()
    known = schema.revision(stack)
    revisions = schema.pending(stack) if dry_run else schema.migrate(stack)
    if as_json:
        typer.echo(json.dumps({"revision": known, "dry_run": dry_run, "migrations": revisions}))
    elif not revisions:
        err.print(f"the database is at revision {known}, the newest that this code knows: nothing to do")
    else:
        err.print(f"{'would carry out' if dry_run else 'carried out'} {', '.join(revisions)} after {known}")


@db.command("backup")
def backup(
    file: Annotated[
        Path | None, typer.Argument(help="A new file; without it kappa-TIME.backup in this folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write registry, served numbers and clients, as they are at one moment, into one file; everything runs on.

    It has neither the log nor the checkpoints.
    """
    target = (file or Path(f"kappa-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.backup")).absolute()
    stack = settings()
    with _progress("writing the backup") as tell:
        size = backups.backup(stack, target, tell)
    if as_json:
        typer.echo(json.dumps({"file": str(target), "bytes": size, "revision": schema.revision(stack)}))
    else:
        err.print(f"{target}: {size / MEGA:,.1f} MB, revision {schema.revision(stack)}")


@db.command("restore")
def restore(
    file: Annotated[Path, typer.Argument(help="What './kappa db backup' has made.", exists=True, dir_okay=False)],
    reason: Reason = None,
    as_json: Json = False,
) -> None:
    """Put a backup in the place of the database; what was there is kept beside it under another name.

    All jobs must be stopped. What was committed after the backup is read again from the log: a job whose checkpoint is
    ahead of the backup refuses to start, and './kappa status' then names the replay.
    """
    stack, why = settings(), reason_required("db restore", reason)
    with _progress("reading the backup into a new database") as tell:
        found = backups.restore(stack, file.absolute(), tell)
    evidence = {"file": str(file.absolute()), "revision": found.revision, "replaced": found.replaced}
    by = Author(getpass.getuser(), in_place_id("db.restore", "all"), why)
    PostgresRegistry(stack.dsn("kappa_registry")).record(Entry(by, "db.restored", evidence=evidence))
    _tell(stack, found, as_json)


@contextmanager
def _progress(what: str) -> Iterator[backups.Tell]:
    """Shows how much is written while the body runs."""
    with working(what) as say:
        yield lambda size: say(f"{what}: {size / MEGA:,.1f} MB")


def _tell(stack: Settings, found: backups.Restored, as_json: bool) -> None:
    held = backups.committed(stack)
    if as_json:
        jobs = [{"job": job, "version": version, "committed_at": at and at.isoformat()} for job, version, at in held]
        typer.echo(json.dumps({**vars(found), "jobs": jobs}))
        return
    table = Table("job", "live version", "newest commit in the backup")
    for job, version, at in held:
        table.add_row(job, f"v{version}", f"{at:%Y-%m-%d %H:%M:%S}Z" if at else "none")
    err.print(table)
    if found.migrated:
        err.print(f"migrated from {found.revision}: {', '.join(found.migrated)}")
    err.print(
        f"restored; what was there before is the database {found.replaced}: drop it once it is not needed. "
        "Now './kappa start JOB' for each job, then './kappa status'."
    )
