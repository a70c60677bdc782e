"""The wait for the catch-up and its trigger, without Airflow's processes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk._shared.module_loading import import_string
from airflow.sdk.exceptions import TaskDeferred

from kappa.airflow import catch_up
from kappa.airflow.catch_up_trigger import CatchUpTrigger
from kappa.unavailable import Unreachable
from kappa.verbs.replay import steps as reprocess
from kappa.verbs.replay.catch_up import Pursuit
from kappa.verbs.replay.progress import CatchUp, Progress

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
PURSUIT = Pursuit({"ad_ctr": 2}, 5, NOON, NOON + timedelta(hours=1))
WORKING, READY = (Progress(s, 1, 2, 3.0, None, "so far") for s in (CatchUp.HYDRATING, CatchUp.READY))


@pytest.fixture(autouse=True)
def in_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The running task is one of a replay's run."""
    platform = SimpleNamespace(registry=SimpleNamespace(now=lambda: NOON), settings=None)

    @contextmanager
    def conducting(verb: str) -> Iterator[Any]:
        yield SimpleNamespace(platform=platform, author=SimpleNamespace(run_id="run", reason=None), run=None)

    monkeypatch.setattr(catch_up, "conducting", conducting)


def test_a_catch_up_waits_in_the_triggerer_until_its_own_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reprocess, "pursue", lambda *_: PURSUIT)
    with pytest.raises(TaskDeferred) as deferred:
        catch_up.CatchUpOperator(task_id="catch_up", verb="reprocess").execute({})
    trigger: Any = deferred.value.trigger
    assert trigger.pursuit == PURSUIT.to_json()
    assert deferred.value.timeout == timedelta(hours=1) + catch_up.MARGIN
    path, arguments = trigger.serialize()
    assert import_string(path)(**arguments).pursuit == trigger.pursuit
    monkeypatch.setattr(reprocess, "pursue", lambda *_: None)
    assert "already" in catch_up.CatchUpOperator(task_id="catch_up", verb="reprocess").execute({})


def test_the_trigger_tells_one_end_whatever_breaks_meanwhile() -> None:
    script: list[Progress | Exception] = [WORKING, Unreachable("Postgres", "here", OSError("gone")), READY, READY]

    def look() -> Progress:
        seen = script.pop(0)
        if isinstance(seen, Exception):
            raise seen
        return seen

    class Scripted(CatchUpTrigger):
        async def watch(self) -> Any:
            return SimpleNamespace(look=look)

    async def collect() -> list[Any]:
        return [event.payload async for event in Scripted(PURSUIT.to_json(), 0.0).run()]

    assert [Progress.from_json(payload) for payload in asyncio.run(collect())] == [READY]
    assert len(script) == 1
