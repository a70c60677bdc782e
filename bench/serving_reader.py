"""A reader of both serving views, each time in one snapshot: how long it ever waited.

That no count falls, and no final changes, is for the tests to say (tests/rigs/view_reader.py).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import psycopg

from bench.beside import Beside
from kappa.core.installation.settings import Settings

JOBS = ("ad_ctr", "client_spend")
_VERSIONS = "select version from serving.freshness where job = any(%s) order by job"
_CLIENTS = """
select client_id from serving.client_spend_day where client_id not like 'probe-%%'
group by client_id order by sum(impressions) desc, client_id limit %s
"""
_COUNTS = "select client_id, sum(impressions + clicks)::bigint from serving.{} where client_id = any(%s) group by 1"
COUNTS = [_COUNTS.format(view) for view in ("ad_ctr_minute", "client_spend_day")]


@dataclass(frozen=True)
class Answer:
    """When one look's answer came (epoch ms), and which versions served."""

    at_ms: float
    versions: tuple[int, ...]


def longest_gap_s(answers: Sequence[Answer]) -> float | None:
    """The most seconds between two answers in a row; None where there are none."""
    gaps = [(later.at_ms - earlier.at_ms) / 1000 for earlier, later in pairwise(answers)]
    return round(max(gaps), 3) if gaps else None


def moves(answers: Sequence[Answer]) -> int:
    """How often other versions served."""
    return sum(earlier.versions != later.versions for earlier, later in pairwise(answers))


class ServingReader(Beside):
    """Looks as kappa_reader in REPEATABLE READ every so often, on a thread of its own, from enter to exit.

    It adds up the rows of the busiest clients only, so that looking itself takes little of the machine.
    """

    def __init__(self, settings: Settings, every_ms: float, clients: int) -> None:
        super().__init__("serving-reader")
        self._settings, self._every, self._limit = settings, every_ms / 1000, clients
        self.answers: list[Answer] = []

    def work(self) -> None:
        """Look every so often."""
        with psycopg.connect(self._settings.dsn("kappa_reader"), autocommit=True) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            clients = [client for (client,) in connection.execute(_CLIENTS, [self._limit])]
            due = time.monotonic()
            while not self.stopping.is_set():
                self.answers.append(_look(connection, clients))
                due = max(due + self._every, time.monotonic())
                self.stopping.wait(due - time.monotonic())


def _look(connection: psycopg.Connection[Any], clients: list[str]) -> Answer:
    """Both views and the versions, in one snapshot."""
    with connection.transaction():
        versions = tuple(version for (version,) in connection.execute(_VERSIONS, [list(JOBS)]))
        for statement in COUNTS:
            connection.execute(statement.encode(), [clients]).fetchall()
    return Answer(time.time() * 1000, versions)
