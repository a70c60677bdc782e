"""The console's connections to a real Postgres: what they may, how long a reading takes, and who waits for whom."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from kappa.console import numbers
from kappa.console.app import protect, router
from kappa.console.database import Database, NotReadable, Reading, TooSlow
from kappa.core.installation.settings import Settings
from tests.plugins.kappa.console.conftest import CAPACITY
from tests.rigs.served_by_hand import ByHand

pytestmark = pytest.mark.rig


def test_the_console_writes_nothing_and_sees_no_table(database: Database) -> None:
    for statement in ("create table ops.x (a int)", "delete from ops.audit", "select * from data.ad_ctr_minute"):
        with pytest.raises(NotReadable), database.reading() as connection:
            connection.execute(statement)
    with database.reading() as connection:
        assert connection.execute("select current_setting('transaction_read_only') as it").fetchone() == {"it": "on"}
        assert connection.execute("show enable_sort").fetchone() == {"enable_sort": "off"}


def test_what_takes_too_long_is_cut_off_and_the_next_read_works(settings: Settings) -> None:
    database = Database(settings, seconds=0.3)
    began = time.monotonic()
    with pytest.raises(TooSlow), database.reading() as connection:
        connection.execute("select pg_sleep(20)")
    assert time.monotonic() - began < 10
    with database.reading() as connection:
        assert connection.execute("select 1 as one").fetchone() == {"one": 1}


def test_a_connection_that_was_ended_is_opened_again(hand: ByHand, database: Database) -> None:
    with database.reading() as connection:
        pid = connection.info.backend_pid
    with psycopg.connect(hand.settings.dsn("postgres"), autocommit=True) as other:
        other.execute("select pg_terminate_backend(%s, 10000)", [pid])
    with pytest.raises(NotReadable), database.reading() as connection:
        connection.execute("select 1")
    with database.reading() as connection:
        assert connection.info.backend_pid != pid


def test_statements_of_one_reading_share_its_limit_and_the_connection_stays(settings: Settings) -> None:
    database = Database(settings, seconds=1.5)
    with database.reading() as connection:
        pid = connection.info.backend_pid
    began = time.monotonic()
    with pytest.raises(TooSlow, match="Choose a shorter span"), database.reading() as connection:
        _sleep(connection, 1, 1.4, 1.4)
    assert time.monotonic() - began < 2.5
    with database.reading() as connection:
        assert connection.info.backend_pid == pid


def test_a_statement_that_comes_after_the_limit_is_not_begun(settings: Settings) -> None:
    with Database(settings, seconds=0.3).reading() as connection:
        time.sleep(0.4)
        with pytest.raises(TooSlow):
            connection.execute("select 1")


def test_what_a_person_asks_for_keeps_no_page_waiting(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ends = threading.Event(), threading.Event()

    def slowly(database: Database, _chosen: numbers.Choice) -> dict[str, Any]:
        with database.reading():
            begun.set()
            assert ends.wait(30)
        return {}

    monkeypatch.setattr(numbers, "read", slowly)
    app = FastAPI()
    protect(app)
    app.include_router(router(lambda: settings, lambda: CAPACITY))
    client = TestClient(app)
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(client.get, "/console/data/numbers")
        try:
            assert begun.wait(30)
            pages = [pool.submit(client.get, f"/console/data/{page}") for page in ("now", "hours", "replays", "fates")]
            assert [page.result(10).status_code for page in pages] == [200] * 4
        finally:
            ends.set()
        assert slow.result(30).status_code == 200


def _sleep(connection: Reading, *seconds: float) -> None:
    for each in seconds:
        connection.execute("select pg_sleep(%s)", [each])
