"""Tries Postgres with each role: that it lets the role in, keeps a session, is new enough, and gives what it needs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

import psycopg
from sqlalchemy.exc import DBAPIError

from cli.doctor import transaction_pooler
from cli.doctor.trial import Trial, Wrong
from kappa.core.installation.settings import ROLES, Settings
from kappa.unavailable import Unreachable
from stack import schema

PART = "Postgres"
OWNER, READER = "kappa_owner", "kappa_reader"
CONNECT_SECONDS = 5
OLDEST = 18
CLOCK_SECONDS = 5.0
NEEDS = {
    "kappa_owner": (("registry.batch", "TRUNCATE"),),
    "kappa_writer": (("registry.batch", "INSERT"), ("registry.fence", "SELECT"), ("data.ad_ctr_minute", "UPDATE")),
    "kappa_registry": (("registry.release", "INSERT"), ("registry.audit", "INSERT"), ("registry.launch", "UPDATE")),
    "kappa_operator": (("ops.accounting", "SELECT"), ("serving.ad_ctr_minute", "SELECT")),
    "kappa_reader": (("serving.ad_ctr_minute", "SELECT"), ("serving.client_spend_day", "SELECT")),
}
"""For each role some of what it does all day: where these are granted, the migrations have granted the rest."""

Connection = psycopg.Connection[tuple[object, ...]]


def trials(settings: Settings) -> Iterator[Trial]:
    """Each role, then the schema's revision and the server's clock."""
    for role in ROLES:
        yield Trial(PART, f"role {role}", partial(_role, settings, role), settings.passfile(role).name)
    yield Trial(PART, "schema", partial(_schema, settings), settings.passfile(OWNER).name)
    yield Trial(PART, "clock", partial(_clock, settings), settings.passfile(READER).name)


def _role(settings: Settings, role: str) -> str:
    with _connected(settings, role) as connection:
        version = _checked_version(connection)
        transaction_pooler.check(connection, partial(_connected, settings, role))
        _check_rights(connection, role)
    return f"version {version}, a session of its own, its rights"


def _connected(settings: Settings, role: str) -> Connection:
    """Without the startup options of `looking`: a pooler may refuse them before it is recognised. Raises Unreachable,
    with what libpq says."""
    try:
        return psycopg.connect(settings.dsn(role), connect_timeout=CONNECT_SECONDS, autocommit=True)
    except psycopg.OperationalError as error:
        raise Unreachable(PART, settings.database_address, error) from error


def _checked_version(connection: Connection) -> int:
    major = connection.info.server_version // 10_000
    if major < OLDEST:
        raise Wrong(
            f"the server is version {major}", f"Kappa Ads needs Postgres {OLDEST} or newer (RETURNING old/new)."
        )
    return major


def _check_rights(connection: Connection, role: str) -> None:
    """Raises Wrong for a role that may do anything, or not what it has to."""
    if connection.execute("select rolsuper from pg_roles where rolname = current_user").fetchone() == (True,):
        raise Wrong(f"{role} is a superuser", f"ALTER ROLE {role} NOSUPERUSER: its password is on several hosts.")
    for relation, right in NEEDS[role]:
        _check_schema_right(connection, role, relation.partition(".")[0])
        if connection.execute("select to_regclass(%s)", [relation]).fetchone() == (None,):
            raise Wrong(f"there is no {relation}", "'./kappa db migrate' makes it.")
        may = connection.execute("select has_table_privilege(%s, %s)", [relation, right]).fetchone()
        if may != (True,):
            raise Wrong(f"{role} may not {right} {relation}", f"As kappa_owner: GRANT {right} ON {relation} TO {role};")


def _check_schema_right(connection: Connection, role: str, name: str) -> None:
    """To be asked for first: Postgres refuses to tell of what is in a schema that the role may not use."""
    may = connection.execute("select has_schema_privilege(to_regnamespace(%s), 'USAGE')", [name]).fetchone()
    if may == (None,):
        raise Wrong(f"there is no schema {name}", "'./kappa db migrate' makes it.")
    if may != (True,):
        raise Wrong(f"{role} may not use schema {name}", f"As kappa_owner: GRANT USAGE ON SCHEMA {name} TO {role};")


def _schema(settings: Settings) -> str:
    _connected(settings, OWNER).close()
    try:
        missing, known = schema.pending(settings), schema.revision(settings)
    except DBAPIError as error:
        raise error.orig or error from None  # psycopg's own, without SQLAlchemy's words about it
    if missing:
        raise Wrong(f"it is at {known}, and lacks {', '.join(missing)}", "'./kappa db migrate' carries them out.")
    return f"revision {known}"


def _clock(settings: Settings) -> str:
    with _connected(settings, READER) as connection:
        row = connection.execute("select clock_timestamp()").fetchone()
    told = row[0] if row else None
    apart = abs((told - datetime.now(UTC)).total_seconds()) if isinstance(told, datetime) else 0.0
    if apart > CLOCK_SECONDS:
        raise Wrong(f"the server's clock and this host's are {apart:.0f} s apart", "Let NTP set both clocks.")
    return f"{apart:.1f} s from this host's"
