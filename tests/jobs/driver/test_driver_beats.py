"""What a driver's heartbeat tells of the newest batch, across the queries that follow one another in it."""

from __future__ import annotations

from typing import Any

import pytest

from jobs import query
from jobs.driver.heartbeat import Beat
from jobs.driver.watcher import Watcher
from stack.waiting import until
from tests.rigs.events import events
from tests.rigs.rig import Rig


@pytest.mark.rig
def test_a_batch_is_still_told_when_the_next_query_has_nothing_to_read(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first batch of a driver is that of an eviction, by a query of its own; no record comes after it here."""
    case, told, second = rig.case(), list[Beat](), list[Any]()
    beat, start = Watcher._beat, query.start

    def beaten(watcher: Watcher) -> Beat:
        told.append(beat(watcher))
        return told[-1]

    def started(*given: Any) -> Any:
        second.append(start(*given))
        return second[-1]

    monkeypatch.setattr(Watcher, "_beat", beaten)
    monkeypatch.setattr(query, "start", started)
    case.produce(events(5))
    with case.driver() as program:
        program.await_read()
        assert until(lambda: bool(second), 60)
    (batch,) = case.batches()
    assert told[-1].batch_id == batch["batch_id"]
    assert 0 < (told[-1].action_ms or 0) <= (told[-1].batch_ms or 0)
    (shown,) = case.query("select processed_at from serving.freshness")
    assert abs((shown["processed_at"] - batch["committed_at"]).total_seconds()) <= 0.001
