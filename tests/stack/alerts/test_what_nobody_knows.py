"""Of what a look cannot tell nothing is over: not while a part is away, not after a restart of the monitor."""

from __future__ import annotations

from dataclasses import replace

from stack.alerts.backlog import GAP_SECONDS, MINUTES
from stack.monitor.registry import Registry
from tests.stack.alerts.receiver import Receiver
from tests.stack.alerts.watch import NIGHT, WELL, Watch

POSTGRES_AWAY = replace(
    WELL,
    registry=None,
    red=[{"what": "postgres does not answer: why", "since": None, "line": "part", "of": "postgres"}],
    away=frozenset({"postgres"}),
)
LONG = MINUTES * 60 + 60
BACKLOG, POSTGRES = "the backlog grows: ad_ctr v1", "Postgres is away"


def test_while_the_supervisor_does_not_answer_nobody_knows_that_a_process_is_back(watch: Watch, hook: Receiver) -> None:
    ended = {"what": "process spark-worker is FATAL", "since": None, "line": "process", "of": "spark-worker"}
    silent = {"what": "supervisor does not answer: why", "since": None, "line": "part", "of": "supervisor"}
    watch.see(60, replace(WELL, red=[ended]))
    watch.see(120, replace(WELL, red=[silent], away=frozenset({"supervisor"})))
    spark, supervisor = "a part of Spark does not run: spark-worker", "the supervisor does not answer"
    assert hook.titles == [f"red: {spark}", f"red: {supervisor}"]
    watch.see(120, WELL)
    assert sorted(hook.titles[2:]) == [f"over: {spark}", f"over: {supervisor}"]


def falls_behind(watch: Watch, seconds: float, records_per_second: int = 100) -> None:
    """The backlog of a version grows, or is worked off, for so long."""
    for _ in range(int(seconds / 5)):
        events = 1_000_000 + records_per_second * int(watch.at - NIGHT)
        version = {"job": "ad_ctr", "version": 1, "serves": True, "desired": "running", "is_changing": False}
        watch.see(5, replace(WELL, registry=Registry([{**version, "lag_events": events, "lag_seconds": 90.0}])))


def test_a_restart_tells_nobody_that_a_backlog_is_over_or_has_begun_again(watch: Watch, hook: Receiver) -> None:
    falls_behind(watch, LONG)
    watch.start()
    falls_behind(watch, LONG)
    assert hook.titles == [f"red: {BACKLOG}"]
    falls_behind(watch, LONG, -100)
    assert hook.titles == [f"red: {BACKLOG}", f"over: {BACKLOG}"]


def test_a_postgres_that_was_away_for_minutes_ends_no_backlog(watch: Watch, hook: Receiver) -> None:
    falls_behind(watch, LONG)
    watch.see(GAP_SECONDS + 60, POSTGRES_AWAY)
    falls_behind(watch, LONG)
    assert hook.titles == [f"red: {BACKLOG}", f"red: {POSTGRES}", f"over: {POSTGRES}"]
