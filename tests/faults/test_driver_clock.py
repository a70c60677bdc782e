"""The driver's clock decides nothing: neither a fate, nor a time that is stored, nor whether a stall is seen."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest

from tests.rigs.case import Case
from tests.rigs.events import events, mixture
from tests.rigs.rig import Rig

JOBS = Path(__file__).parents[2] / "jobs"
CLOCKS = {
    "time.time", "time.time_ns", "time.localtime", "time.gmtime", "datetime.now", "datetime.utcnow", "datetime.today",
    "date.today", "F.now", "F.current_timestamp", "F.current_date", "F.localtimestamp", "F.unix_timestamp",
}  # fmt: skip
SKEWS = {"5 years ahead": 5 * 365 * 86_400, "an hour behind": -3_600}
MAY_ASK = {"stagger.py": {"time.time"}, "look_at_hosts.py": {"time.time"}}
"""The first says how long a batch rests before the next, within three cadences whatever the clock says
(test_stagger.py); the second is a program that looks at clocks, and reads no record."""


def silence(case: Case) -> None:
    """Three minutes pass in the database: the driver beats, records wait, and nothing is committed."""
    for statement in (
        "update registry.heartbeat set beat_at = clock_timestamp(), committed_at = committed_at - interval '3 min'",
        "update registry.job_version set desired = 'running', updated_at = updated_at - interval '3 min'",
        "update registry.launch set intended_at = intended_at - interval '3 min'",
        "update registry.progress set read_append_time = read_append_time - interval '3 min', "
        "drained_at = drained_at - interval '3 min', end_offset = end_offset + 5",
    ):
        case.query(statement)


@pytest.mark.rig
@pytest.mark.fault(
    "F20", "fates by append_time, times by the database, a stall is red, whatever the driver's clock says"
)
@pytest.mark.parametrize("skew", ["5 years ahead", pytest.param("an hour behind", marks=pytest.mark.long(minutes=1))])
def test_a_driver_s_clock_neither_decides_a_fate_nor_hides_a_stall(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, skew: str
) -> None:
    case = rig.case()
    case.produce(mixture(20, 300))
    machine = time.time
    with monkeypatch.context() as moved:
        moved.setattr(time, "time", lambda: machine() + SKEWS[skew])
        case.run_until_read()
    case.check()
    (told,) = case.query("select processed_at, clock_timestamp() as now, (select max(date_trunc('milliseconds', "
                         "committed_at)) from registry.batch) as committed_at from serving.freshness")  # fmt: skip
    assert told["processed_at"] <= told["now"]
    assert abs((told["processed_at"] - told["committed_at"]).total_seconds()) <= 0.001
    assert case.query("select what from ops.red_lines where what = 'stalled'") == []
    silence(case)
    assert case.query("select what from ops.red_lines where what = 'stalled'") == [{"what": "stalled"}]


@pytest.mark.rig
def test_a_time_that_an_earlier_driver_took_from_its_own_clock_does_not_stay(rig: Rig) -> None:
    """A heartbeat from before the database's time was told."""
    case = rig.case()
    case.produce(events(5))
    case.run_until_read()
    case.query("update registry.heartbeat set committed_at = committed_at + interval '1 hour'")
    case.produce(events(5, 100))
    case.run_until_read()
    assert case.query("select 1 from serving.freshness where processed_at > clock_timestamp()") == []


@pytest.mark.fault("F20", "no code of the jobs asks for the wall clock, but to tell when a batch may begin")
@pytest.mark.parametrize("file", sorted(JOBS.rglob("*.py")), ids=lambda file: str(file.relative_to(JOBS)))
def test_no_code_of_the_jobs_asks_for_the_wall_clock(file: Path) -> None:
    asked = {ast.unparse(node) for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Attribute)}
    imported = {
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert (asked | imported) & CLOCKS == MAY_ASK.get(file.name, set())
