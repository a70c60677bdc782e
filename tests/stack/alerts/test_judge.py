"""What is wrong now, judged from one look after another, with when each thing was first seen."""

from __future__ import annotations

from dataclasses import replace

from kappa.status.causes import Cause
from stack.alerts.judge import Judge
from stack.monitor.look import Disk, Look
from tests.stack.alerts.watch import NIGHT, RED, WELL

FULL = replace(WELL, disk=Disk(1_000_000, 2_000_000))


def judge() -> Judge:
    return Judge(disk_free_mb=5_000, airflow_url="http://airflow")


def since(judge: Judge, seen: Look, at: float) -> dict[Cause, float]:
    """What is found at that second of the night, and since which one it is there."""
    judged = judge.judge(replace(seen, at=NIGHT + at))
    return {finding.cause: began - NIGHT for finding, began in judged.dated()}


def test_what_nobody_knows_the_beginning_of_began_when_it_was_first_seen() -> None:
    by = judge()
    assert since(by, FULL, 0) == {Cause.DISK: 0}
    assert since(by, FULL, 60) == {Cause.DISK: 0}
    assert since(by, WELL, 65) == {}
    assert since(by, FULL, 70) == {Cause.DISK: 70}


def test_what_says_itself_since_when_is_taken_at_its_word() -> None:
    assert since(judge(), RED, 0) == {Cause.SILENT: -30}


def test_what_could_not_be_told_meanwhile_did_not_begin_anew() -> None:
    by, apart = judge(), replace(WELL, clock_ahead_seconds=60.0)
    away = replace(WELL, registry=None)
    found = [since(by, seen, at) for at, seen in enumerate((apart, away, apart))]
    assert found == [{Cause.CLOCK: 0}, {}, {Cause.CLOCK: 0}]


def test_one_look_is_judged_once_whoever_asks() -> None:
    by = judge()
    assert by.judge(RED) is by.judge(RED)


def test_what_a_run_explains_is_no_finding_to_show() -> None:
    by = judge()
    version = {"job": "ad_ctr", "version": 1, "serves": True, "desired": "running", "is_changing": True,
               "lag_events": 0, "lag_seconds": 0.0}  # fmt: skip
    registry = replace(RED.registry, versions=[version])  # type: ignore[type-var]
    assert since(by, replace(RED, registry=registry), 0) == {}
