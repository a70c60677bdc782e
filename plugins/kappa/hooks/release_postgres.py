"""Replays and releases in Postgres, as role kappa_registry; rows are dropped as their owner."""

from __future__ import annotations

from kappa.hooks.release_hand_over import PostgresHandOver
from kappa.hooks.release_pins import PostgresPins
from kappa.hooks.release_replays import PostgresReplays
from kappa.hooks.release_retiring import PostgresRetiring
from kappa.hooks.release_standing import PostgresStanding


class PostgresReleases(PostgresReplays, PostgresStanding, PostgresHandOver, PostgresPins, PostgresRetiring):
    """The Releases over psycopg: a transaction per call, and one more for each table that goes."""
