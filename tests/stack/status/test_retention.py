"""`status` warns before the log drops what a version that serves has not read."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from psycopg.rows import dict_row

from stack.monitor import registry
from stack.status import job as job_status
from tests.rigs.case import Case
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
SET = """
update registry.progress set end_offset = next_offset + %s, drained_at = null,
    read_append_time = clock_timestamp() - %s * interval '1 hour'"""


@pytest.fixture(scope="module")
def case(cases: Rig) -> Case:
    """A version of ad_ctr that serves all windows, and one of client_spend; no driver runs."""
    return cases.case("ad_ctr", "client_spend")


@pytest.fixture
def lines(case: Case) -> Callable[[], list[dict[str, str]]]:
    """The red lines about retention, of a log that is kept for 168 hours."""
    assert case.settings.topic.retention_hours == 168
    return lambda: [line for line in job_status.read(case.settings)[1] if " retention: " in line["what"]]


@pytest.mark.parametrize("desired", ["running", "stopped"])
@pytest.mark.parametrize(("hours", "warned"), [(0, False), (120, False), (130, True), (200, True)])
def test_less_than_a_quarter_of_the_retention_is_red(
    case: Case, lines: Callable[[], list[dict[str, str]]], desired: str, hours: int, warned: bool
) -> None:
    case.query(SET, 5, hours)
    case.query("update registry.job_version set desired = %s", desired)
    found = [line["what"] for line in lines()]
    if not warned:
        assert found == []
        return
    assert [what.split(":")[0] for what in found] == ["ad_ctr v1 retention", "client_spend v1 retention"]
    assert ("the log may have dropped" if hours > 168 else "in 38 h the log drops") in found[0]
    assert ("./kappa start ad_ctr" in found[0]) == (desired == "stopped")
    assert "topic.retention_hours" in found[0]


def test_what_has_read_all_that_is_known_of_is_not_red_while_another_version_looks(
    case: Case, lines: Callable[[], list[dict[str, str]]]
) -> None:
    case.query(SET, 0, 150)
    case.query("update registry.job_version set desired = 'stopped'")
    assert len(lines()) == 2, "nobody looks at the log, so nobody knows what came since"
    case.query(BEAT)
    assert lines() == []
    case.query("update registry.progress set end_offset = end_offset + 1 where job = 'client_spend'")
    assert [line["what"].split(":")[0] for line in lines()] == ["ad_ctr v1 retention", "client_spend v1 retention"]
    case.query("delete from registry.heartbeat")


def test_a_version_that_does_not_serve_the_open_end_is_not_red(
    case: Case, lines: Callable[[], list[dict[str, str]]]
) -> None:
    case.query(SET, 5, 150)
    case.query("update registry.segment set to_window = '2026-01-01' where job = 'ad_ctr'")
    assert [line["what"].split(":")[0] for line in lines()] == ["client_spend v1 retention"]
    case.query("update registry.segment set to_window = 'infinity' where job = 'ad_ctr'")


@pytest.mark.parametrize(("hours", "warned"), [(120, []), (150, ["ad_ctr v1 retention"])])
def test_of_what_was_never_read_the_first_record_decides_whenever_the_version_was_made(
    cases: Rig, hours: int, warned: list[str]
) -> None:
    case = cases.case("ad_ctr", "client_spend")
    case.query(SET, 5, 0)
    case.query(NEVER_READ, hours)
    found = [line["what"].split(":")[0] for line in job_status.read(case.settings)[1] if " retention: " in line["what"]]
    assert found == warned
    with psycopg.connect(case.settings.dsn("kappa_operator"), row_factory=dict_row) as connection:
        versions = registry.read(connection, 168).versions
    assert [round(version["unread_seconds"] / 3600) for version in versions] == [hours, 0]
    assert [round(version["lag_seconds"] / 3600) for version in versions] == [0, 0]


NEVER_READ = """
update registry.progress set next_offset = 0, end_offset = 5, read_append_time = null, drained_at = null,
    first_append_time = clock_timestamp() - %s * interval '1 hour' where job = 'ad_ctr' and "partition" = 1"""
BEAT = """
insert into registry.heartbeat (job, version, epoch, beat_at, driver_pid, submission_id, generation)
select job, version, 1, clock_timestamp(), 7, 'driver-1', 1 from registry.job_version where job = 'client_spend'"""
