"""A broker whose clock is slow: what comes then is of the future by its clock, which turns red and loses nothing."""

from __future__ import annotations

import pytest
from psycopg.rows import DictRow

from tests.rigs.case import Case
from tests.rigs.events import events
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
SLOW_MS = 360_000
"""How slow the clock is: so far lies what happens now after its append time. Only their difference is looked at."""
JOBS = ("ad_ctr", "quarantine")


def lines(case: Case) -> list[DictRow]:
    """What `status` shows in red of clocks."""
    return case.query("select job, what, detail from ops.red_lines where what = 'future' order by job")


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


@pytest.mark.parametrize(("future", "others", "red"), [(20, 180, 0), (21, 179, 1), (99, 0, 0), (100, 0, 1)])
def test_it_takes_a_hundred_records_and_more_than_a_tenth(cases: Rig, future: int, others: int, red: int) -> None:
    case = cases.case()
    counts = {"read": future + others, "future": future, "counted": others}
    names = [*counts, "duplicate", "repeated_click", "late", "before_start", "dead_letter", "rows_changed"]
    micros = [f"{name}_micros" for name in names[1:7]]
    values = ", ".join(str(counts.get(name, 0)) for name in [*names, *micros])
    case.query(
        "insert into registry.batch (job, version, generation, batch_id, epoch, topic_id, start_offsets, end_offsets, "
        f"{', '.join([*names, *micros])}) values ('ad_ctr', 1, 1, 0, 1, 'id', '{{}}', '{{}}', {values})"
    )
    assert len(lines(case)) == red
