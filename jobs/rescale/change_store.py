"""What a finite Spark program reads and writes of the change that it works for."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

import psycopg
from psycopg.rows import dict_row
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_exponential_jitter

from jobs.driver.registry import connect
from jobs.postgres import TRANSIENT
from kappa.core.changes import Change, Mark, Outcome
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal

logger = logging.getLogger("kappa.change")
LEAVE_SECONDS = 60.0
"""So long a program that has ended tries to say how."""


class UnknownChange(Refusal):
    """The registry has no such change of this version."""

    def __init__(self, change_id: str, job: str, version: int) -> None:
        super().__init__(
            f"the registry knows no change {change_id} of {job} v{version}. Nothing was touched. "
            "This program is started by the DAGs only."
        )


class ChangeEnded(Exception):  # noqa: N818 - an end, not an error
    """The change was done or undone by another: there is nothing left to do."""


@dataclass(frozen=True)
class Generation:
    """A repartitioned copy of a checkpoint, as it is entered: its folder below the version's, the newest batch it is
    committed to, and the proof."""

    generation: int
    folder: str
    made_from: int
    state_partitions: int
    base_batch_id: int
    proof: Mapping[str, Any]


class ChangeStore(Protocol):
    """The registry's side of one change."""

    def read(self) -> Change:
        """The change as it is now. Raises UnknownChange."""

    def mark(self, moment: Mark) -> None:
        """Keep the time of a moment; the first one stays."""

    def is_driven(self) -> bool:
        """Whether a launch of the version has not ended: its driver may still be there."""

    def generation(self, number: int) -> Generation | None:
        """A generation that was made and proved."""

    def enter(self, made: Generation) -> None:
        """Enter a generation that was made and proved, which makes it real; the one that was entered last counts."""


class PostgresChangeStore:
    """The ChangeStore in Postgres; each call is a transaction of its own."""

    def __init__(self, settings: Settings, job: str, version: int, change_id: str) -> None:
        self._settings = settings
        self._key: dict[str, Any] = {"job": job, "version": version, "change_id": change_id}
        self._open: psycopg.Connection[tuple[Any, ...]] | None = None

    def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open.close()

    def read(self) -> Change:
        """The change as it is now. Raises UnknownChange."""
        row = self._one(
            "select * from registry.change where change_id = %(change_id)s and job = %(job)s and version = %(version)s"
        )
        if row is None:
            raise UnknownChange(self._key["change_id"], self._key["job"], self._key["version"])
        return Change.from_json(row)

    def mark(self, moment: Mark) -> None:
        """Keep the time of a moment; the first one stays."""
        self._connection.execute(
            """update registry.change set marks = jsonb_build_object(%(moment)s::text,
                to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')) || marks
            where change_id = %(change_id)s""",
            {**self._key, "moment": moment},
        )
        logger.info("change %s: %s", self._key["change_id"], moment)

    def is_driven(self) -> bool:
        """Whether a launch of the version has not ended: its driver may still be there."""
        found = self._one(
            "select 1 as one from registry.launch where job = %(job)s and version = %(version)s and ended_at is null"
        )
        return found is not None

    def generation(self, number: int) -> Generation | None:
        """A generation that was made and proved."""
        row = self._one(
            "select generation, coalesce(folder, 'g' || generation) as folder, made_from, "
            " state_partitions, base_batch_id, proof from registry.generation "
            "where job = %(job)s and version = %(version)s and generation = %(generation)s",
            generation=number,
        )
        return None if row is None else Generation(**row)

    def enter(self, made: Generation) -> None:
        """Enter a generation that was made and proved, which makes it real; the one that was entered last counts."""
        self._connection.execute(
            """insert into registry.generation
                (job, version, generation, folder, made_from, change_id, state_partitions, base_batch_id, proof)
            values (%(job)s, %(version)s, %(generation)s, %(folder)s, %(made_from)s, %(change_id)s,
                %(state_partitions)s, %(base_batch_id)s, %(proof)s)
            on conflict (job, version, generation) do update set (folder, change_id, base_batch_id, proof, made_at)
                = (excluded.folder, excluded.change_id, excluded.base_batch_id, excluded.proof, excluded.made_at)""",
            {**self._key, **vars(made), "proof": json.dumps(made.proof)},
        )

    @retry(
        retry=retry_if_exception_type(TRANSIENT),
        wait=wait_exponential_jitter(multiplier=0.2, max=5),
        stop=stop_after_delay(LEAVE_SECONDS),
        reraise=True,
    )
    def leave(self, attempt_id: UUID, outcome: Outcome) -> None:
        """Leave how an attempt at a finite program ended, unless another one has followed it."""
        left = self._connection.execute(
            """update registry.finite_program set outcome = %(outcome)s, ended_at = clock_timestamp()
            where change_id = %(change_id)s and attempt_id = %(attempt_id)s""",
            {**self._key, "attempt_id": attempt_id, "outcome": json.dumps(outcome.to_json())},
        )
        if not left.rowcount:
            logger.warning("attempt %s is not the newest any more: its outcome was left out", attempt_id)

    @property
    def _connection(self) -> psycopg.Connection[tuple[Any, ...]]:
        """The connection; made anew after Postgres went away."""
        if self._open is None or self._open.closed:
            self._open = connect(self._settings, self._key["job"], self._key["version"], None)
            self._open.autocommit = True
        return self._open

    def _one(self, statement: Any, **values: Any) -> dict[str, Any] | None:
        with self._connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(statement, {**self._key, **values}).fetchone()


def check_open(changes: ChangeStore) -> Change:
    """The change, while it is open. Raises ChangeEnded, UnknownChange."""
    change = changes.read()
    if change.has_ended:
        raise ChangeEnded(f"the change ended as {change.phase}")
    return change
