"""Which versions a run has taken hold of just now: of these nobody is told that no driver reports."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.rows import dict_row

from stack.monitor import registry
from tests.rigs.case import Case
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
LEASE = """
insert into registry.lease (job, version, run_id, verb, actor, taken_at, ends_at)
values ('ad_ctr', 1, 'run', %s, 'somebody', now() - %s * interval '1 second', now() + interval '1 hour')
"""
BEAT = """
insert into registry.heartbeat (job, version, epoch, beat_at, driver_pid, submission_id, generation, committed_at)
values ('ad_ctr', 1, 1, now(), 1, 'driver-1', 1, now() - interval '10 seconds')
"""


@pytest.fixture
def case(cases: Rig) -> Case:
    return cases.case("ad_ctr")


def is_changing(case: Case) -> bool:
    """What the monitor reads of the version."""
    with psycopg.connect(case.settings.dsn("kappa_operator"), row_factory=dict_row) as connection:
        (version,) = (v for v in registry.read(connection, 168).versions if v["job"] == "ad_ctr")
    return bool(version["is_changing"])


@pytest.mark.parametrize(
    ("verb", "age", "expected"), [("deploy", 60, True), ("deploy", 400, False), ("repair", 60, False)]
)
def test_a_run_has_five_minutes_and_a_repair_none(case: Case, verb: str, age: int, expected: bool) -> None:
    case.query(LEASE, verb, age)
    assert is_changing(case) == expected


@pytest.mark.parametrize(
    ("state", "age", "expected"), [("CATCHING_UP", 60, False), ("CATCHING_UP", 5, True), ("LIVE", 60, True)]
)
def test_a_candidate_that_has_begun_to_read_is_watched(case: Case, state: str, age: int, expected: bool) -> None:
    case.query(LEASE, "reprocess", age)
    case.query(BEAT)
    case.query("update registry.job_version set state = %s where job = 'ad_ctr'", state)
    assert is_changing(case) == expected
