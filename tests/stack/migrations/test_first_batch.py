"""A version waits from its making on for what it has read nothing of yet: a first batch that never commits is seen."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kappa.registry.postgres import PostgresRegistry
from kappa.verbs.repair.plan import Action, Finding, Kind, Observed, examine
from tests.rigs.case import Case
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig

BEAT = """
insert into registry.heartbeat (job, version, epoch, beat_at, driver_pid, submission_id, generation)
select job, version, 1, clock_timestamp(), 7, 'driver-1', 1 from registry.job_version"""
APPENDED = "update registry.progress set end_offset = next_offset + 5"
MADE = """
update registry.job_version set created_at = clock_timestamp() - interval '{made} s',
    updated_at = clock_timestamp() - interval '{made} s'"""
LAUNCHED = "update registry.launch set intended_at = clock_timestamp() - interval '{launched} s'"
READ = """
update registry.progress set next_offset = next_offset + {read},
    read_append_time = clock_timestamp() - interval '1 hour',
    drained_at = case when {read} = 5 then clock_timestamp() end where "partition" = 0"""


def hung(cases: Rig, made: int, launched: int) -> Case:
    """A version whose driver beats and has committed nothing, over a log with 5 records in each partition; it was made,
    and its driver launched, so many seconds ago."""
    case = cases.case()
    for statement in (BEAT, APPENDED, MADE.format(made=made), LAUNCHED.format(launched=launched)):
        case.query(statement)
    return case


def lag(case: Case) -> int:
    """How long the oldest unread record waits, in whole minutes."""
    (row,) = case.query("select lag_seconds from serving.freshness")
    return int(row["lag_seconds"] // 60)


def red(case: Case) -> list[str]:
    return [row["what"] for row in case.query("select what from ops.red_lines")]


def repair(case: Case) -> Finding:
    """What a repair finds of it, now."""
    registry = PostgresRegistry(case.settings.dsn("kappa_registry"))
    (version,), launch, now = registry.versions("ad_ctr"), registry.open_launch("ad_ctr", 1), registry.now()
    assert launch is not None
    waited = (now - launch.intended_at) / timedelta(seconds=1)
    return examine(Observed(version, registry.health("ad_ctr", 1), True, None, None, True, now, waited))


def test_a_first_batch_that_never_commits_is_red_and_its_driver_replaced(cases: Rig) -> None:
    case = hung(cases, made=601, launched=601)
    assert red(case) == ["stalled"]
    assert lag(case) == 10
    found = repair(case)
    assert (found.kind, found.action) == (Kind.STUCK, Action.REPLACE)
    assert "its driver committed nothing yet, and 10 records are unread, the oldest for 60" in found.sentence


@pytest.mark.parametrize(("made", "launched"), [(100, 100), (601, 100), (86_401, 100)])
def test_a_driver_that_was_just_launched_is_given_its_time(cases: Rig, made: int, launched: int) -> None:
    case = hung(cases, made, launched)
    assert red(case) == []
    assert repair(case).kind is Kind.FINE


def test_a_restart_makes_no_record_younger(cases: Rig) -> None:
    assert lag(hung(cases, made=601, launched=5)) == 10


def test_where_nothing_is_unread_or_the_log_was_never_seen_nothing_waits(cases: Rig) -> None:
    case = hung(cases, made=601, launched=601)
    for ends in ("next_offset", "null"):
        case.query(f"update registry.progress set end_offset = {ends}")
        assert (lag(case), red(case), repair(case).kind) == (0, [], Kind.FINE)


@pytest.mark.parametrize(("read", "minutes"), [(4, 60), (5, 10)])
def test_of_partitions_of_which_one_was_read_the_one_that_waits_longest_decides(
    cases: Rig, read: int, minutes: int
) -> None:
    case = hung(cases, made=601, launched=601)
    case.query(READ.format(read=read))
    assert lag(case) == minutes


def test_of_what_was_never_read_nothing_is_complete(cases: Rig) -> None:
    case = hung(cases, made=601, launched=601)
    assert case.query("select complete_through from serving.freshness") == [{"complete_through": None}]
