"""The trigger that watches for incidents: told once when new, told again while they last, whatever breaks meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from airflow.sdk._shared.module_loading import import_string

from kappa.airflow.incident_trigger import Incident, IncidentTrigger, Memory, due

SILENT = Incident("ad_ctr", 1, "silent")
FAILED = Incident("ad_ctr", 1, "failed")
MINUTE = 60.0


class Script(IncidentTrigger):
    """A trigger that sees what it is told to; an exception in the script is a connection that breaks."""

    def __init__(self, *script: list[Incident] | Exception) -> None:
        super().__init__(poll_seconds=0)
        self.script = list(script)

    async def looks(self) -> AsyncIterator[list[Incident]]:
        while self.script:
            seen = self.script.pop(0)
            if isinstance(seen, Exception):
                raise seen
            yield seen
        raise EOFError


def events(trigger: IncidentTrigger) -> list[Any]:
    async def collect() -> list[Any]:
        found: list[Any] = []
        try:
            async for event in trigger.run():
                found.append(event.payload["incidents"])
        except EOFError:
            return found
        return found

    return asyncio.run(collect())


def told(present: list[Incident], times: list[float], memory: Memory | None = None) -> list[float]:
    """At which of those times something is told."""
    known: Memory = memory or {}
    at = []
    for now in times:
        tell, known = due(known, present, now)
        at += [now] if tell else []
    return at


def test_a_new_incident_is_told_once() -> None:
    assert events(Script([], [SILENT], [SILENT], [SILENT])) == [[["ad_ctr", 1, "silent"]]]


def test_each_new_incident_is_told_for_itself() -> None:
    seen = events(Script([SILENT], [SILENT, FAILED], [FAILED]))
    assert seen == [[["ad_ctr", 1, "silent"]], [["ad_ctr", 1, "failed"]]]


def test_one_that_was_gone_is_new_again() -> None:
    assert len(events(Script([SILENT], [], [SILENT]))) == 2


def test_a_lasting_one_is_told_again_after_one_five_and_fifteen_minutes_and_then_left_to_the_sweep() -> None:
    every_second = [float(second) for second in range(60 * 60)]
    assert told([SILENT], every_second) == [0, 1 * MINUTE, 5 * MINUTE, 15 * MINUTE]


def test_a_long_look_away_is_told_once_not_for_each_time_missed() -> None:
    assert told([SILENT], [0, 20 * MINUTE, 20 * MINUTE + 1]) == [0, 20 * MINUTE]


def test_a_broken_connection_is_made_again_and_nothing_is_forgotten() -> None:
    broken = psycopg.OperationalError("server closed the connection")
    assert len(events(Script([SILENT], broken, [SILENT]))) == 1


def test_an_error_of_the_code_is_not_looped_over() -> None:
    with pytest.raises(ValueError, match="wrong"):
        events(Script(ValueError("wrong")))


def test_it_is_made_again_from_what_it_serialises_and_that_holds_no_secret() -> None:
    path, kwargs = IncidentTrigger(poll_seconds=3.0).serialize()
    again = import_string(path)(**kwargs)
    assert again.serialize() == (path, kwargs) == (path, {"poll_seconds": 3.0})
