"""A driver that is cut off from the registry begins no batch: another one may be at work on its checkpoint by then."""

from __future__ import annotations

import logging
import time

import pytest

from jobs import postgres as connections
from jobs.driver import heartbeat
from jobs.postgres import Connection
from tests.rigs.case import Case
from tests.rigs.checkpoint_folders import folder_of
from tests.rigs.events import events
from tests.rigs.postgres_proxy import PostgresProxy
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
LOST_SECONDS = 1.5
BEGUN, HELD_BACK = "a batch was begun", "no batch is begun until one does"


@pytest.mark.red_without("heard", BEGUN)
@pytest.mark.fault("F11", "'no heartbeat has arrived for 20 s: no batch is begun until one does' in the driver's log")
def test_who_is_not_heard_begins_no_batch_and_goes_on_where_it_was_once_it_is(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(heartbeat, "LOST_SECONDS", LOST_SECONDS)
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 2)
    monkeypatch.setattr(Connection, "answer_seconds", 2.0)
    caplog.set_level(logging.INFO)
    case = rig.case()
    with PostgresProxy(case.settings) as proxy, case.driver(settings=proxy.settings) as program:
        for number in range(2):  # the first batch is one that evicts; the query that follows goes on after the second
            case.produce(events(50, 50 * number))
            program.await_read()
        proxy.fall_silent()
        time.sleep(2 * LOST_SECONDS)
        before = states(case)
        case.produce(events(50, 100))
        program.until(
            "the next batch is held back or begun", lambda: HELD_BACK in caplog.text or states(case) != before
        )
        time.sleep(2 * LOST_SECONDS)
        after = states(case)
        proxy.speak()
        case.relieve()
        program.await_read()
    assert after == before, BEGUN
    assert HELD_BACK in caplog.text
    assert len(case.query("select 1 from registry.driver_start")) == 1, "nothing had to start it again"
    case.check()


def states(case: Case) -> set[str]:
    """The files of the state that there are."""
    folder = folder_of(case.checkpoint()) / "state"
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
