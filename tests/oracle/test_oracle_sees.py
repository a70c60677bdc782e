"""The oracle on real parts: each served column, and each table behind one, is spoilt by SQL, and it names it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from kappa.core.installation.kafka_access import KafkaUser
from oracle.decode import LogRecord
from oracle.postgres import PostgresDatabase
from oracle.reconcile import Verdict, reconcile
from oracle.topic import KafkaTopic
from tests.oracle.fake_ports import FakeClock, FakeTopic
from tests.oracle.served_for_real import Real, served_for_real
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig

SPOILT: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "serving.ad_ctr_minute": {
        "client_id": ("'c2'", "(row)"),
        "ad_id": ("ad_id || 'x'", "(row)"),
        "window_start": ("window_start - interval '1 minute'", "(row)"),
        "impressions": ("impressions + 1", "impressions"),
        "clicks": ("clicks + 1", "clicks"),
        "spend_micros": ("spend_micros + 1", "spend_micros"),
        "ctr": ("ctr + 0.000001", "ctr"),
        "duplicates": ("duplicates + 1", "duplicates"),
        "repeated_clicks": ("repeated_clicks - 1", "repeated_clicks"),
        "is_final": ("not is_final", "is_final"),
    },
    "serving.client_spend_day": {
        "client_id": ("'c2'", "(row)"),
        "budget_day": ("budget_day + 1", "(row)"),
        "time_zone": ("'UTC'", "time_zone"),
        "currency": ("'USD'", "currency"),
        "impressions": ("impressions - 1", "impressions"),
        "clicks": ("clicks + 1", "clicks"),
        "spend_micros": ("spend_micros - 1", "spend_micros"),
        "budget_micros": ("budget_micros + 1", "budget_micros"),
        "finality": ("'provisional'", "finality"),
    },
    "serving.freshness": {
        "job": ("job || 'x'", "complete_through"),
        "version": ("version + 1", "complete_through"),
        "complete_through": ("complete_through + interval '1 ms'", "complete_through"),
    },
    "ops.accounting": {
        "read": ("read + 1", "read"),
        **{
            f"{fate}{unit}": (f"{fate}{unit} + 1", f"{fate}{unit}")
            for fate in ("counted", "duplicate", "repeated_click", "late", "future", "before_start", "dead_letter")
            for unit in ("", "_micros")
            if f"{fate}{unit}" != "dead_letter_micros"
        },
    },
    "ops.quarantine": {
        "topic": ("'others'", "topic"),
        "partition": ('"partition" + 1', "(row)"),
        "offset": ('"offset" + 1', "(row)"),
        "append_time": ("append_time + interval '1 ms'", "append_time"),
        "fate": ("case fate when 'late' then 'future' else 'late' end", "fate"),
        "reason": ("''", "has_reason"),
        "key": ("key || 'x'::bytea", "key"),
        "value": ("substring(value from 2)", "value"),
        "value_bytes": ("value_bytes + 1", "value_bytes"),
    },
}
"""view -> column -> what it shows instead, and the column that the oracle names."""
NOT_COMPARED = {
    "serving.freshness": {"processed_at", "newest_event_time", "lag_events", "lag_seconds"},
    "ops.accounting": {"job", "version", "state"},
    "ops.quarantine": {"recorded_at"},
}
"""Columns that say when something was done, or whose row it is; no record of the log decides them."""
ROWS = {
    "one micro": ("update data.ad_ctr_minute set click_micros = click_micros + 1 where ad_id = 'a1'", "spend_micros"),
    "one impression": ("update data.ad_ctr_minute set impressions = impressions + 1 where ad_id = 'a1'", "impressions"),
    "one click": ("update data.ad_ctr_minute set clicks = clicks - 1 where ad_id = 'a1'", "clicks"),
    "one duplicate": ("update data.ad_ctr_minute set seen_impressions = 4 where ad_id = 'a1'", "duplicates"),
    "a repeated click": ("update data.ad_ctr_minute set seen_clicks = 1 where ad_id = 'a1'", "repeated_clicks"),
    "a row of a closed segment": ("delete from data.ad_ctr_minute where version = 1 and ad_id = 'a1'", "(row)"),
    "a row of the live version": ("delete from data.ad_ctr_minute where version = 2", "(row)"),
    "a row too many": (
        "insert into data.ad_ctr_minute select version, client_id, 'a9', window_start, 0, 0, 0, 0, 0, 0, 0, 0 "
        "from data.ad_ctr_minute where version = 2",
        "(row)",
    ),
    "a micro of a day": ("update data.client_spend_minute set impression_micros = impression_micros + 1 "
                         "where clicks = 1", "spend_micros"),
    "a minute in another day": ("update data.client_spend_minute set window_start = window_start - interval '1 day' "
                                "where clicks = 1", "(row)"),
    "a record that is not kept": ("delete from data.quarantine where fate = 'future'", "(row)"),
    "a record that was not refused": ("update data.quarantine set \"offset\" = 0 where fate = 'late'", "(row)"),
    "a record beyond what was read": ("update data.quarantine set \"offset\" = 99 where fate = 'late'", "(row)"),
    "books of an older version": ("update registry.batch_total set late = 0, counted = 5 where job = 'ad_ctr' "
                                  "and version = 1", "late"),
    "money in the books": ("update registry.batch_total set counted_micros = counted_micros - 1 where version = 2",
                           "counted_micros"),
    "read further than the log was": ("update registry.progress set read_append_time = read_append_time + "
                                      "interval '1 s' where job = 'client_spend'", "complete_through"),
    "never read": ("update registry.progress set read_append_time = null where job = 'ad_ctr' and version = 2",
                   "complete_through"),
    "nothing unread in the future": ("update registry.progress set drained_at = clock_timestamp() + "
                                     "interval '1 day' where job = 'ad_ctr' and version = 1", "drained_at"),
    "a window of another version": ("update registry.segment set to_window = to_window + interval '1 minute' "
                                    "where job = 'ad_ctr' and version = 1; update registry.segment set from_window = "
                                    "from_window + interval '1 minute' where job = 'ad_ctr' and version = 2", ""),
}  # fmt: skip
"""What is done to the tables, and a column that the oracle names; none: both versions show the same there."""
TABLES = (
    "data.ad_ctr_minute", "data.client_spend_minute", "data.quarantine", "registry.batch_total", "registry.progress",
    "registry.segment",
)  # fmt: skip


class Stand:
    """The case whose log was read once; every verdict is over the real database."""

    def __init__(self, real: Real) -> None:
        self.real, self.query = real, real.case.query
        settings = real.case.settings
        topic = KafkaTopic(settings.kafka_access(KafkaUser.READER).librdkafka(), settings.topic.name)
        bounds = topic.bounds()
        log: dict[int, list[LogRecord]] = {partition: [] for partition in bounds}
        for record in topic.records({partition: end for partition, (_, end) in bounds.items()}):
            log[record.partition].append(record)
        self.log = FakeTopic(log, {partition: first for partition, (first, _) in bounds.items()})
        self.views = {view: self._definition(view) for view in SPOILT}
        self.query("create schema aside")
        for table in TABLES:
            self.query(f"create table aside.{table.split('.')[1]} as table {table}")

    def verdict(self) -> Verdict:
        database = PostgresDatabase(self.real.case.settings.dsn("kappa_operator"))
        return reconcile(self.log, database, None, 0, FakeClock())

    def named(self) -> set[str]:
        return {each.column for each in self.verdict().differences}

    def columns(self, view: str) -> dict[str, str]:
        """The view's columns with their types."""
        found = self.query("select attname, format_type(atttypid, atttypmod) as kind from pg_attribute "
                           "where attrelid = %s::regclass and attnum > 0 order by attnum", view)  # fmt: skip
        return {row["attname"]: row["kind"] for row in found}

    @contextmanager
    def shown(self, view: str, column: str, expression: str) -> Iterator[None]:
        """The view with one column as that expression of its row."""
        shown = ", ".join(
            f'({expression if name == column else f"{chr(34)}{name}{chr(34)}"})::{kind} as "{name}"'
            for name, kind in self.columns(view).items()
        )
        self.query(f"create or replace view {view} as select {shown} from ({self.views[view]}) as true_rows")
        try:
            yield
        finally:
            self.query(f"create or replace view {view} as {self.views[view]}")

    @contextmanager
    def changed(self, statements: str) -> Iterator[None]:
        """The tables after these statements."""
        for statement in statements.split("; "):
            self.query(statement)
        try:
            yield
        finally:
            for table in TABLES:
                self.query(f"delete from {table}")
                self.query(f"insert into {table} table aside.{table.split('.')[1]}")

    def _definition(self, view: str) -> str:
        (row,) = self.query("select pg_get_viewdef(%s::regclass) as text", view)
        return str(row["text"]).strip().removesuffix(";")


@pytest.fixture(scope="module")
def stand(cases: Rig) -> Stand:
    return Stand(served_for_real(cases.case("ad_ctr", "client_spend", "quarantine")))


def test_what_was_served_rightly_has_no_difference(stand: Stand) -> None:
    settings = stand.real.case.settings
    database = PostgresDatabase(settings.dsn("kappa_operator"))
    found = reconcile(
        KafkaTopic(settings.kafka_access(KafkaUser.READER).librdkafka(), settings.topic.name),
        database,
        None,
        0,
        FakeClock(),
    )
    assert found.differences == []
    assert found.records == 9
    assert [(job.job, job.serving, job.uncompared) for job in found.jobs] == [
        ("ad_ctr", [1, 2], []), ("client_spend", [1], []), ("quarantine", [1], []),
    ]  # fmt: skip
    assert found.jobs[0].rows == {
        "ops.accounting": 2, "serving.freshness": 1, "serving.ad_ctr_minute": 2
    }  # fmt: skip


def test_no_column_is_left_out(stand: Stand) -> None:
    for view, spoilt in SPOILT.items():
        assert set(spoilt) | NOT_COMPARED.get(view, set()) == set(stand.columns(view)), view
    shown = {f"serving.{row['relname']}" for row in stand.query(
        "select relname from pg_class where relnamespace = 'serving'::regnamespace and relkind = 'v'")}  # fmt: skip
    assert shown <= set(SPOILT)


@pytest.mark.red_without("oracle's column", r"assert '.+' in ", "{named}")
@pytest.mark.parametrize(
    ("view", "column", "named"),
    [(view, column, spoilt[1]) for view in SPOILT for column, spoilt in SPOILT[view].items()],
)
def test_a_column_that_shows_something_else_is_named(stand: Stand, view: str, column: str, named: str) -> None:
    with stand.shown(view, column, SPOILT[view][column][0]):
        differences = stand.verdict().differences
    assert named in {each.column for each in differences if each.view == view}


@pytest.mark.parametrize("what", list(ROWS))
def test_a_table_that_was_changed_by_hand_is_seen(stand: Stand, what: str) -> None:
    statements, named = ROWS[what]
    with stand.changed(statements):
        found = stand.named()
    assert found == set() if not named else named in found
    assert stand.named() == set(), "the change was taken back"


def test_jobs_by_other_rules_are_seen_on_real_parts(stand: Stand) -> None:
    alter = "update registry.job_version set settings = settings || %s::jsonb where job = 'client_spend'"
    stand.query(alter, '{"click_interval_ms": 20000}')
    try:
        across: list[Any] = [each for each in stand.verdict().across if each.view == "settings that decide"]
    finally:
        stand.query(alter, '{"click_interval_ms": 10000}')
    assert [(each.job, each.column, each.expected, each.served) for each in across] == [
        ("ad_ctr v1 and client_spend v1", "click_interval_ms", 10_000, 20_000),
        ("ad_ctr v2 and client_spend v1", "click_interval_ms", 10_000, 20_000),
    ]
