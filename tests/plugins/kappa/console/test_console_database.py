"""The console's connections to a real Postgres: what they may, and how long a reading takes."""

from __future__ import annotations

import time

import psycopg
import pytest

from kappa.console.database import Database, NotReadable, Reading, TooSlow
from kappa.core.installation.settings import Settings
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


def _sleep(connection: Reading, *seconds: float) -> None:
    for each in seconds:
        connection.execute("select pg_sleep(%s)", [each])
