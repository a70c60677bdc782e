"""Records that come late, by an hour to forty days: counted on the day they happened, or refused as `late`."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from tests.rigs.events import event
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
HOUR_MS = 3_600_000
LATE_HOURS = (24, 71, 73, 40 * 24)
"""Later than the allowed lateness, two hours; 71 and 73 lie on either side of three days, when a day may be final."""
JOBS = ("ad_ctr", "client_spend", "quarantine")


def zone_where_the_day_has_just_begun(now_ms: int) -> str:
    """A time zone in which the last midnight is less than an hour ago."""
    hour = datetime.fromtimestamp(now_ms / 1000, UTC).hour
    return f"Etc/GMT+{hour}" if hour <= 12 else f"Etc/GMT-{24 - hour}"


@pytest.mark.fault("F23", "1 h: counted on the day before; 24 h to 40 d: `late`, in the quarantine, no day changes (an "
                   "adjustment of a day that is over does not exist yet)")  # fmt: skip
def test_what_is_late_counts_on_its_own_day_or_is_refused_as_late(rig: Rig) -> None:
    case, now_ms = rig.case(*JOBS), round(time.time() * 1000)
    zone = zone_where_the_day_has_just_begun(now_ms)
    case.query("insert into reference.client values ('c1', '2020-01-01', %s, 'USD', null)", zone)
    ages_ms = {1: 5_000, 2: HOUR_MS, **{3 + n: hours * HOUR_MS for n, hours in enumerate(LATE_HOURS)}}
    case.produce([event(number, event_time=now_ms - age_ms) for number, age_ms in ages_ms.items()])
    case.run_until_read()
    expected: Counter[date] = Counter()
    for number in (1, 2):
        at = datetime.fromtimestamp((now_ms - ages_ms[number]) / 1000, ZoneInfo(zone))
        expected[at.date()] += 1_000 + number
    days = case.query("select budget_day, spend_micros from serving.client_spend_day where client_id = 'c1'")
    assert {row["budget_day"]: row["spend_micros"] for row in days} == expected
    for job in ("ad_ctr", "client_spend"):
        told = case.accounts(job)
        assert (told["counted"], told["late"], told["late_micros"]) == (2, 4, 4 * 1_000 + 3 + 4 + 5 + 6)
    assert case.query("select fate, count(*) from ops.quarantine group by fate") == [{"fate": "late", "count": 4}]
    case.check()
