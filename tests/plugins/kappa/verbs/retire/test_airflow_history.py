"""Airflow's own database, cleaned by Airflow's own command: what is a month old goes, what is newer or waits stays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from kappa.core.audit import Author
from kappa.platform import connect
from kappa.verbs.retire import airflow_history
from stack.layout import Layout
from stack.services import airflow as control
from stack.services.passwords import AIRFLOW_ROLE

pytestmark = [pytest.mark.rig, pytest.mark.long(minutes=2)]

BY = Author("airflow", "sweep-1")
RUNS = """
insert into dag_run (dag_id, run_id, run_type, start_date, run_after, state, conf, creating_job_id, span_status)
select 'growth', 'run-' || n, 'scheduled', %(now)s - n * interval '15 minutes', %(now)s - n * interval '15 minutes',
    'success', '{}', null, 'ended'
from generate_series(1, 10000) n"""
EVENTS = (
    "insert into log (dttm, event) select %(now)s - n * interval '15 minutes', 'x' from generate_series(1, 10000) n"
)
TRIGGER = """
insert into trigger (classpath, kwargs, created_date) values ('x', '{}', %(now)s - interval '400 days') returning id"""


@pytest.fixture
def airflow(parts: Layout) -> Iterator[psycopg.Connection]:
    """Airflow's database with a hundred days of runs, four an hour, and a trigger that waits for more than a year."""
    control.prepare(parts)
    control.migrate(parts)
    dsn = parts.settings.dsn(AIRFLOW_ROLE, AIRFLOW_ROLE)
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in (RUNS, EVENTS, TRIGGER):
            connection.execute(statement, {"now": datetime.now(UTC)})
        yield connection


def test_a_month_of_history_is_kept_and_no_more(parts: Layout, airflow: psycopg.Connection) -> None:
    said = airflow_history.clean(connect(parts.settings), BY)
    print(said)
    month = 30 * 24 * 4
    for table, time in (("dag_run", "start_date"), ("log", "dttm")):
        ((count, oldest),) = airflow.execute(f"select count(*), min({time}) from {table}").fetchall()
        assert month - 2 <= count <= month + 5
        assert oldest > datetime.now(UTC) - airflow_history.KEPT - timedelta(hours=1)
    assert airflow.execute("select count(*) from trigger").fetchall() == [(1,)]
    aside = "select count(*) from information_schema.tables where table_name like '\\_airflow\\_deleted%'"
    assert airflow.execute(aside).fetchall() == [(0,)]
    assert "not yet time" in airflow_history.clean(connect(parts.settings), BY)
