"""Postgres refuses a driver's transaction for a while: the batch is tried again, and the version is not given up."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.errors import TransactionTimeout

from jobs import transactions
from jobs.sinks import ledger
from stack.passwords import SUPERUSER
from tests.case import Case
from tests.events import events
from tests.rig import Rig

pytestmark = pytest.mark.rig


@pytest.fixture
def timeouts(monkeypatch: pytest.MonkeyPatch) -> list[TransactionTimeout]:
    """Those that the ledger's transactions met; each takes a second instead of half a minute."""
    met: list[TransactionTimeout] = []
    whole = ledger.write

    def watched(*given: Any) -> ledger.Written:
        try:
            return whole(*given)
        except TransactionTimeout as error:
            met.append(error)
            raise

    monkeypatch.setattr(ledger, "write", watched)
    monkeypatch.setattr(transactions, "BASE_SECONDS", 1)
    return met


@pytest.mark.fault("F12", "no failed run: the same query commits the batch once the table is free")
def test_a_table_that_is_locked_ends_no_query(rig: Rig, timeouts: list[TransactionTimeout]) -> None:
    case = rig.case()
    case.produce(events(20))
    with case.driver() as program:
        program.await_read()
        with psycopg.connect(case.settings.dsn(SUPERUSER)) as other:
            other.execute("lock table data.ad_ctr_minute in access exclusive mode")
            case.produce(events(20, 100))
            program.until("two time-outs", lambda: len(timeouts) >= 2)
            assert case.red() == {}
        program.await_read()
        assert case.red() == {}
    check_unbroken(case)


def test_an_error_that_nobody_foresaw_ends_the_query_and_not_the_version(rig: Rig) -> None:
    case = rig.case()
    case.produce(events(20))
    with case.driver() as program:
        program.await_read()
        newest = max(batch["batch_id"] for batch in case.batches())
        case.query(f"alter table registry.batch add constraint unforeseen check (batch_id <= {newest})")
        case.produce(events(7, 100))
        program.until("the red line", lambda: "CheckViolation" in case.red().get("query", ""), 60)
        case.query("alter table registry.batch drop constraint unforeseen")
        program.await_read()
        program.until("the red line is gone", lambda: case.red() == {}, 30)
    check_unbroken(case)


def check_unbroken(case: Case) -> None:
    """All was read, exactly, by one start."""
    assert case.state() == "LIVE"
    assert case.query("select count(*) from registry.driver_start") == [{"count": 1}]
    case.check()
