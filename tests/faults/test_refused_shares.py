"""Many refused records turn red and lose nothing: a broker's slow clock has them of the future, a fast one late, others
nobody can read."""

from __future__ import annotations

import pytest
from psycopg.rows import DictRow

from tests.rigs.case import Case
from tests.rigs.events import events
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
SLOW_MS = 360_000
"""How slow the clock is: so far lies what happens now after its append time. Only their difference is looked at."""
FAST_MS = 3 * 3_600_000
"""How fast it is: so long before its append time lies what happens now."""
JOBS = ("ad_ctr", "quarantine")


def lines(case: Case) -> list[DictRow]:
    """What `status` shows in red of refused records."""
    shares = "what in ('future', 'late', 'dead_letter')"
    return case.query(f"select job, what, detail from ops.red_lines where {shares} order by job")


@pytest.mark.fault("F37", "a red line `future` with the share; each record is in the log and in ops.quarantine")
def test_a_clock_six_minutes_slow_turns_red_and_the_records_are_kept(rig: Rig) -> None:
    case = rig.case(*JOBS)
    case.produce([*events(160, ago_ms=-SLOW_MS), *events(40, 1_000)])
    case.run_until_read()
    said = "160 of the 200 records of the last 5 min are refused as too far ahead of the broker's clock"
    assert lines(case) == [{"job": job, "what": "future", "detail": said} for job in JOBS]
    assert sum(case.ends().values()) == 200
    assert [case.accounts(job)["future"] for job in JOBS] == [160, 160]
    assert case.query("select fate, count(*) from ops.quarantine group by fate") == [{"fate": "future", "count": 160}]
    case.check()
    case.query("update registry.batch set committed_at = committed_at - interval '5 minutes'")
    assert lines(case) == [], "it is about the last five minutes"


@pytest.mark.fault("F37", "a clock hours fast: a red line `late` with the share; each is kept, the others count")
def test_a_clock_three_hours_fast_turns_red_and_the_records_are_kept(rig: Rig) -> None:
    case = rig.case(*JOBS)
    case.produce([*events(160, ago_ms=FAST_MS), *events(40, 1_000)])
    case.run_until_read()
    said = "160 of the 200 records of the last 5 min came later than the allowed lateness"
    assert lines(case) == [{"job": job, "what": "late", "detail": said} for job in JOBS]
    assert [case.accounts(job)["late"] for job in JOBS] == [160, 160]
    assert case.query("select fate, count(*) from ops.quarantine group by fate") == [{"fate": "late", "count": 160}]
    case.check()


@pytest.mark.fault("F18", "a flood of them: a red line `dead_letter` with the share, each is kept, the others count")
def test_a_producer_that_writes_what_nobody_can_read_turns_red_and_the_others_count(rig: Rig) -> None:
    case = rig.case(*JOBS)
    case.produce([*events(160, cost_micros=-1), *events(40, 1_000)])
    case.run_until_read()
    said = "160 of the 200 records of the last 5 min cannot be read"
    assert lines(case) == [{"job": job, "what": "dead_letter", "detail": said} for job in JOBS]
    assert [case.accounts(job)["counted"] for job in JOBS] == [40, 40]
    kept = case.query("select fate, count(*), count(reason) as told from ops.quarantine group by fate")
    assert kept == [{"fate": "dead_letter", "count": 160, "told": 160}]
    case.check()


@pytest.mark.parametrize("fate", ["future", "late", "dead_letter"])
@pytest.mark.parametrize(("refused", "others", "red"), [(20, 180, 0), (21, 179, 1), (99, 0, 0), (100, 0, 1)])
def test_it_takes_a_hundred_records_and_more_than_a_tenth(
    cases: Rig, fate: str, refused: int, others: int, red: int
) -> None:
    case = cases.case()
    commit(case, 0, refused + others, {fate: refused, "counted": others}, 0)
    assert len(lines(case)) == red


@pytest.mark.parametrize("fate", ["future", "late", "dead_letter"])
def test_it_began_with_the_first_batch_of_which_more_than_a_tenth_was_refused(cases: Rig, fate: str) -> None:
    case = cases.case()
    for number, (refused, ago) in enumerate([(1, 240), (100, 60), (100, 30)]):
        commit(case, number, 100, {fate: refused, "counted": 100 - refused}, ago)
    (said,) = case.query("select extract(epoch from clock_timestamp() - since) as seconds from ops.red_lines")
    assert 60 <= said["seconds"] < 120


def commit(case: Case, number: int, read: int, counts: dict[str, int], ago_seconds: int) -> None:
    """A batch of ad_ctr with these fates, committed so long ago."""
    fates = ["counted", "duplicate", "repeated_click", "late", "future", "before_start", "dead_letter"]
    names = ["read", *fates, "rows_changed", *(f"{each}_micros" for each in fates[:6])]
    values = ", ".join(str({"read": read, **counts}.get(name, 0)) for name in names)
    case.query(
        "insert into registry.batch (job, version, generation, batch_id, epoch, topic_id, start_offsets, end_offsets, "
        f"committed_at, {', '.join(names)}) values ('ad_ctr', 1, 1, {number}, 1, 'id', '{{}}', '{{}}', "
        f"clock_timestamp() - interval '{ago_seconds} seconds', {values})"
    )
