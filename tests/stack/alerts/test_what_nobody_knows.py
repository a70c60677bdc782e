"""Of what a look cannot tell nothing is over: not while a part is away, not after a restart of the monitor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stack.alerts.backlog import GAP_SECONDS, MINUTES
from stack.monitor.registry import Registry
from tests.stack.alerts.receiver import Receiver
from tests.stack.alerts.watch import NIGHT, WELL, Watch


def line(name: str, of: str) -> dict[str, Any]:
    """A red line of the stack."""
    return {"what": f"{name} {of}", "since": None, "line": name, "of": of}


NO_POSTGRES, NO_SUPERVISOR = line("part", "postgres"), line("part", "supervisor")
POSTGRES_AWAY = replace(WELL, registry=None, red=[NO_POSTGRES], away=frozenset({"postgres"}))
DOWN = replace(WELL, red=[line("down", "")])
LONG = MINUTES * 60 + 60
BACKLOG, POSTGRES = "the backlog grows: ad_ctr v1", "Postgres is away"


def test_while_the_supervisor_does_not_answer_nobody_knows_that_a_process_is_back(watch: Watch, hook: Receiver) -> None:
    watch.see(60, replace(WELL, red=[line("process", "spark-worker")]))
    watch.see(120, replace(WELL, red=[NO_SUPERVISOR], away=frozenset({"supervisor"})))
    spark, supervisor = "a part of Spark does not run: spark-worker", "the supervisor does not answer"
    assert hook.titles == [f"red: {spark}", f"red: {supervisor}"]
    watch.see(120, WELL)
    assert sorted(hook.titles[2:]) == [f"over: {spark}", f"over: {supervisor}"]


def test_that_the_stack_is_down_ends_nothing_of_its_parts(watch: Watch, hook: Receiver) -> None:
    """Then it is all that is said: not that Postgres is away, not what the supervisor knew."""
    away = frozenset({"postgres", "kafka"})
    ended = [line("process", part) for part in ("spark-worker", "airflow-scheduler")]
    red = [NO_POSTGRES, line("part", "kafka"), NO_SUPERVISOR, *ended]
    watch.see(60, replace(WELL, registry=None, red=red, away=away))
    begun = [title.removeprefix("red: ") for title in hook.titles]
    assert len(begun) == 5
    watch.see(120, replace(DOWN, registry=None, away=away))
    assert hook.titles[5:] == ["red: the stack is down"]
    watch.see(120, WELL)
    assert sorted(hook.titles[6:]) == sorted(f"over: {title}" for title in [*begun, "the stack is down"])


def test_a_postgres_that_answers_though_the_stack_is_down_is_back(watch: Watch, hook: Receiver) -> None:
    watch.see(60, POSTGRES_AWAY)
    watch.see(120, DOWN)
    assert sorted(hook.titles[1:]) == [f"over: {POSTGRES}", "red: the stack is down"]


def test_a_registry_that_was_missing_is_not_there_because_postgres_is_away(watch: Watch, hook: Receiver) -> None:
    watch.see(60, replace(WELL, registry=None, red=[line("registry", "postgres")]))
    watch.see(120, POSTGRES_AWAY)
    assert hook.titles == ["red: the registry is missing", f"red: {POSTGRES}"]


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
