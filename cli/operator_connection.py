"""A connection for looking: as the role kappa_operator, which reads the schemas ops and serving, or as another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row

from kappa.core.installation.no_registry import NoRegistry
from kappa.core.installation.settings import Settings
from kappa.registry.transactions import MISSING
from kappa.unavailable import Unreachable

ROLE = "kappa_operator"
Reading = psycopg.Connection[dict[str, Any]]


@contextmanager
def looking(settings: Settings, role: str = ROLE) -> Iterator[Reading]:
    """A connection on which each statement sees the present, its times in UTC. Raises Unreachable, NoRegistry."""
    dsn, address = settings.dsn(role), settings.database_address
    try:
        with psycopg.connect(
            dsn, connect_timeout=5, autocommit=True, row_factory=dict_row, options="-c timezone=UTC"
        ) as connection:
            yield connection
    except psycopg.OperationalError as error:
        raise Unreachable("Postgres", address, error) from error
    except MISSING as error:
        raise NoRegistry(error.diag.message_primary) from error
