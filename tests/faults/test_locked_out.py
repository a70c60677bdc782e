"""Postgres refuses a driver's transaction for a while: the batch is tried again, and the version is not given up."""

from __future__ import annotations

import psycopg
import pytest

from jobs import postgres as transactions
from jobs.sinks import batch_sink
from stack.services.passwords import SUPERUSER
from tests.rigs.case import Case
from tests.rigs.events import events
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
WAITING = "select pid from pg_stat_activity where datname = current_database() and wait_event = 'relation'"


@pytest.mark.fault("F12", "red line `commit` while the table is locked; the same query commits once it is free")
def test_a_table_that_is_locked_ends_no_query(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "BASE_SECONDS", 1)
    monkeypatch.setattr(batch_sink, "TOLD_AFTER_SECONDS", 1.0)
    case = rig.case()
    case.produce(events(20))
    waited: set[int] = set()

    def timed_out_twice() -> bool:
        waited.update(row["pid"] for row in case.query(WAITING))
        return len(waited) > 2

    with case.driver() as program:
        program.await_read()
        with psycopg.connect(case.settings.dsn(SUPERUSER)) as other:
            other.execute("lock table data.ad_ctr_minute in access exclusive mode")
            case.strike()
            case.produce(events(20, 100))
            program.until("a third backend waits for the table", timed_out_twice)
            program.until("it is red", lambda: "TransactionTimeout" in case.red().get("commit", ""))
        case.relieve()
        program.await_read()
        program.until("it is red no more", lambda: case.red() == {})
    check_unbroken(case)


def test_an_error_that_nobody_foresaw_ends_the_query_and_not_the_version(rig: Rig) -> None:
    case = rig.case()
    case.produce(events(20))
    with case.driver() as program:
        program.await_read()
        newest = max(batch["batch_id"] for batch in case.batches())
        case.query(f"alter table registry.batch add constraint unforeseen check (batch_id <= {newest})")
        case.strike()
        case.produce(events(7, 100))
        program.until("the red line", lambda: "CheckViolation" in case.red().get("query", ""), 60)
        case.query("alter table registry.batch drop constraint unforeseen")
        case.relieve()
        program.await_read()
        program.until("the red line is gone", lambda: case.red() == {}, 30)
    check_unbroken(case)


def check_unbroken(case: Case) -> None:
    """All was read, exactly, by one start."""
    assert case.state() == "LIVE"
    assert case.query("select count(*) from registry.driver_start") == [{"count": 1}]
    case.check()
