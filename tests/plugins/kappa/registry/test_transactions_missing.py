"""A transaction on a database without a registry, or with an older one, is refused with what is missing by name."""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest

from kappa.core.installation.no_registry import NoRegistry
from kappa.registry.transactions import Database
from stack.layout import Layout
from stack.services import postgres

pytestmark = pytest.mark.rig
EMPTY = "without_registry"


@pytest.fixture(autouse=True)
def _(parts: Layout) -> None:
    """A database that has its roles, and that no migration was run on."""
    postgres.ensure_roles(replace(parts.settings, database=EMPTY))


@pytest.mark.parametrize(
    ("database", "statement", "missing"),
    [
        (EMPTY, "select * from registry.job_version", 'relation "registry.job_version" does not exist'),
        (EMPTY, "select registry.no_such()", 'schema "registry" does not exist'),
        (None, "select newer from registry.audit", 'column "newer" does not exist'),
    ],
)
def test_what_is_missing_is_named_with_what_makes_it(
    parts: Layout, database: str | None, statement: str, missing: str
) -> None:
    dsn = parts.settings.dsn("kappa_registry", database)
    with pytest.raises(NoRegistry, match=missing) as refused, Database(dsn).transaction() as connection:
        connection.execute(statement)
    assert "./kappa db migrate" in str(refused.value)


def test_a_statement_that_is_wrong_in_itself_is_no_refusal(parts: Layout) -> None:
    dsn = parts.settings.dsn("kappa_registry")
    with pytest.raises(psycopg.errors.SyntaxError), Database(dsn).transaction() as connection:
        connection.execute("selec 1")
