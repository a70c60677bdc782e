"""Replays and releases in Postgres, as role kappa_registry; rows are dropped as their owner."""

from __future__ import annotations

from kappa.registry.releases.hand_over import PostgresHandOver
from kappa.registry.releases.pins import PostgresPins
from kappa.registry.releases.progress import PostgresStanding
from kappa.registry.releases.replays import PostgresReplays
from kappa.registry.releases.retiring import PostgresRetiring


class PostgresReleases(PostgresReplays, PostgresStanding, PostgresHandOver, PostgresPins, PostgresRetiring):
    """The Releases over psycopg: a transaction per call, and one more for each table that goes."""
