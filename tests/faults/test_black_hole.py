"""Postgres takes what is sent and answers nothing: each wait ends, the driver tries again, and is exact afterwards."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import pytest

from jobs import postgres as connections
from jobs import postgres as transactions
from jobs.driver import heartbeat
from jobs.postgres import Connection
from tests.rigs.events import events
from tests.rigs.postgres_proxy import AtCommit, PostgresProxy
from tests.rigs.program import PATIENCE_SECONDS
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
SAID = (
    r"(the transaction is tried again|the query could not be started): no answer within 2 s",
    r"(the transaction is tried again|the query could not be started): connection timeout expired",
    r"postgres does not answer the heartbeat",
)
"""The connection of a batch, or of a query about to start, was given up; another was tried in vain; no beat arrives."""


@pytest.mark.fault("F11", "the driver's log says that no answer came; `status` shows a driver that does not beat")
@pytest.mark.parametrize(
    "moment",
    [
        "between two batches",
        pytest.param("while the answer to COMMIT is under way", marks=pytest.mark.long(minutes=2)),
    ],
)
def test_a_black_hole_ends_each_wait_and_loses_nothing(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, moment: str
) -> None:
    monkeypatch.setattr(heartbeat, "LOST_SECONDS", PATIENCE_SECONDS)  # a slow machine begins its batch all the same
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 2)
    monkeypatch.setattr(Connection, "answer_seconds", 2.0)
    monkeypatch.setattr(connections, "MARGIN_SECONDS", 2.0 - transactions.BASE_SECONDS)
    caplog.set_level(logging.INFO)
    case = rig.case()

    def at_commit() -> Iterator[AtCommit]:
        proxy.fall_silent()
        yield AtCommit.PASSES

    def is_seen() -> bool:
        return all(re.search(words, caplog.text) for words in SAID)

    with PostgresProxy(case.settings) as proxy, case.driver(settings=proxy.settings) as program, proxy.heard_at_last():
        for number in range(2):  # the first batch is one that evicts; the query that follows goes on after the second
            case.produce(events(50, 50 * number))
            program.await_read()
        if moment == "between two batches":
            proxy.fall_silent()
        else:
            proxy.fates = at_commit()
        case.produce(events(100, 100))
        program.until("the driver gave its connections up, and tried to make others", is_seen)
        assert proxy.is_silent
        proxy.speak()
        case.relieve()
        program.await_read()
    assert len(case.query("select 1 from registry.driver_start")) == 1, "nothing had to start it again"
    case.check()
