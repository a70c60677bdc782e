"""Waits for incidents of the streams in Postgres: an event when one appears, and again while it lasts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, NamedTuple

import psycopg
from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from kappa.airflow.installation import settings_of_trigger

ROLE = "kappa_operator"
REMIND_SECONDS = (0.0, 60.0, 300.0, 900.0)
"""How long an incident has lasted when it is told, and told again; the sweep goes on from there."""
INCIDENTS = "select job, version, what from ops.red_lines"
"""What the database calls wrong: a silent driver and one that commits nothing while records wait are among it."""


class Incident(NamedTuple):
    """Something wrong with a version, in a word."""

    job: str
    version: int
    what: str


class Seen(NamedTuple):
    """Since when an incident has been seen, and how many times it was told."""

    since: float
    told: int


Memory = Mapping[Incident, Seen]


def due(memory: Memory, present: Iterable[Incident], now: float) -> tuple[list[Incident], Memory]:
    """The incidents to tell now, and what to remember; one that is gone is forgotten. `now` in seconds of any clock."""
    seen = {incident: memory.get(incident, Seen(now, 0)) for incident in present}
    told = {incident: _times_due(now - known.since) for incident, known in seen.items()}
    tell = [incident for incident, known in seen.items() if told[incident] > known.told]
    return sorted(tell), {incident: Seen(known.since, told[incident]) for incident, known in seen.items()}


class IncidentTrigger(BaseEventTrigger):
    """Yields an event for each look at which an incident is new or due again: {"incidents": [[job, version, what]]}.

    It remembers in memory only: made again, it tells of what lasts once more, and a repair of what needs none does
    nothing. Where Postgres does not answer it asks again; the stack's own health says that.
    """

    def __init__(self, poll_seconds: float = 2.0) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.poll_seconds = poll_seconds

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Class path and arguments; where the database is, the triggerer finds in its own environment."""
        return f"{type(self).__module__}.{type(self).__qualname__}", {"poll_seconds": self.poll_seconds}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look for ever."""
        memory: Memory = {}
        while True:
            try:
                async for present in self.looks():
                    tell, memory = due(memory, present, time.monotonic())
                    if tell:
                        yield _event(tell)
            except psycopg.OperationalError as problem:
                self.log.warning("the registry does not answer, asked again: %s", problem)
                await asyncio.sleep(self.poll_seconds)

    async def looks(self) -> AsyncIterator[list[Incident]]:
        """What is wrong, look after look, over one connection. Raises psycopg.OperationalError."""
        async with await self.connect() as connection:
            while True:
                rows = await (await connection.execute(INCIDENTS)).fetchall()
                yield [Incident(*row) for row in rows]
                await asyncio.sleep(self.poll_seconds)

    async def connect(self) -> psycopg.AsyncConnection[Any]:
        """A connection of its own, which may only look."""
        return await psycopg.AsyncConnection.connect(
            (await settings_of_trigger()).dsn(ROLE),
            autocommit=True,
            connect_timeout=5,
            options="-c statement_timeout=5s",
            application_name="kappa:incidents",
        )


def _event(tell: list[Incident]) -> TriggerEvent:
    return TriggerEvent({"incidents": [list(incident) for incident in tell]})  # type: ignore[no-untyped-call]


def _times_due(lasted: float) -> int:
    return sum(lasted >= after for after in REMIND_SECONDS)
