"""From a log and a database to a verdict, on fakes of both ports."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from truth.compare import ctr_holds
from truth.decode import LogRecord
from truth.fates import FATES, Rules
from truth.reconcile import LogTooShort, NothingLive, Verdict, reconcile
from truth.served import Served, ServedDay, ServedRow, Snapshot

NOON = 1_700_049_600_000
RULES = Rules(7_200_000, 300_000, 10_000, None)
KEY = ("c1", "a1", NOON)
DAY = ("c1", date(2023, 11, 15))


class FakeClock:
    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds


class FakeTopic:
    def __init__(self, log: list[LogRecord], first: int = 0) -> None:
        self._log, self._first = log, first

    def bounds(self) -> dict[int, tuple[int, int]]:
        return {0: (self._first, self._first + len(self._log))}

    def records(self, ends: Mapping[int, int]) -> Iterator[LogRecord]:
        return (record for record in self._log if record.offset < ends[record.partition])


class FakeDatabase:
    def __init__(self, *jobs: Served) -> None:
        self.jobs, self.asked = jobs, 0

    def progress(self) -> dict[str, dict[int, int]]:
        self.asked += 1
        return {job.job: job.end for job in self.jobs}

    def snapshot(self, jobs: frozenset[str] | None) -> Snapshot:
        return Snapshot(tuple(job for job in self.jobs if jobs is None or job.job in jobs))


def _record(offset: int, kind: str, event_id: int, at: int = NOON, cost: int = 5) -> LogRecord:
    value = {"event_id": f"00000000-0000-4000-8000-{event_id:012x}", "event_type": kind, "slot_id": "s1"}
    value |= {"client_id": "c1", "ad_id": "a1", "user_id": "u1"}
    text = json.dumps({**value, "event_time": at, "cost_micros": cost}).encode()
    return LogRecord(0, offset, NOON + 1_000, True, b"u1", text)


LOG = [
    _record(0, "impression", 1),
    _record(1, "impression", 1),
    _record(2, "impression", 2),
    _record(3, "impression", 3, at=NOON + 1),
    _record(4, "click", 4, cost=100),
    LogRecord(0, 5, NOON, True, b"u1", b"oops"),
    _record(6, "impression", 6, at=NOON - 8_000_000),
]
RECORDS = {"read": 7, "counted": 4, "duplicate": 1, "late": 1, "dead_letter": 1}
MICROS = {"counted": 115, "duplicate": 5, "late": 5}


def _job(job: str, rules: Rules = RULES, **more: object) -> Served:
    records = {name: RECORDS.get(name, 0) for name in ("read", *FATES)}
    micros = {fate: MICROS.get(fate, 0) for fate in FATES if fate != "dead_letter"}
    served = Served(job, 1, rules, {0: 0}, {0: 7}, None, records, micros)
    return replace(served, **more)  # type: ignore[arg-type]


def _ad_ctr() -> Served:
    row = ServedRow(3, 1, 115, 1, 0, Decimal("0.33333333333333333333"))
    return _job("ad_ctr", keys=("client_id", "ad_id"), minutes={KEY: row})


def _client_spend() -> Served:
    return _job("client_spend", days={DAY: ServedDay("UTC", None, None, 3, 1, 115)})


def _quarantine() -> Served:
    served = _job(
        "quarantine",
        Rules(7_200_000, 300_000, None, None),
        quarantine={(0, 5): "dead_letter", (0, 6): "late"},
    )
    return replace(
        served,
        records=served.records | {"counted": 5, "duplicate": 0},
        micros=served.micros | {"counted": 120, "duplicate": 0},
    )


def _verdict(*jobs: Served, log: list[LogRecord] = LOG, wait: float = 0) -> Verdict:
    return reconcile(FakeTopic(log), FakeDatabase(*jobs), None, wait, FakeClock())


def test_what_is_as_it_must_be_has_no_difference() -> None:
    verdict = _verdict(_ad_ctr(), _client_spend(), _quarantine())
    assert verdict.differences == []
    assert [sum(job.rows.values()) for job in verdict.jobs] == [2, 2, 3]


def test_refused_records_that_are_no_longer_kept_are_not_missing() -> None:
    """Before the offset from which on they are kept nothing is compared; from there on all is."""
    served = replace(_quarantine(), quarantine={(0, 6): "late"})
    assert [each.column for each in _verdict(served).differences] == ["(row)"]
    assert _verdict(replace(served, kept_from={0: 6})).differences == []
    assert _verdict(replace(_quarantine(), kept_from={0: 6})).differences == [], "not yet removed"
    assert len(_verdict(replace(served, quarantine={}, kept_from={0: 6})).differences) == 1


def _minute(**changes: object) -> Served:
    served = _ad_ctr()
    assert served.minutes is not None
    return replace(served, minutes={KEY: replace(served.minutes[KEY], **changes)})  # type: ignore[arg-type]


def _day(**changes: object) -> Served:
    served = _client_spend()
    assert served.days is not None
    return replace(served, days={DAY: replace(served.days[DAY], **changes)})  # type: ignore[arg-type]


@pytest.mark.red_without("oracle's column", r"assert \[\] == \['", "{column}")
@pytest.mark.parametrize(
    ("make", "column"),
    [
        (lambda: _minute(impressions=4, ctr=Decimal("0.25")), "impressions"),
        (lambda: _minute(clicks=2, ctr=Decimal("0.66666667")), "clicks"),
        (lambda: _minute(spend_micros=116), "spend_micros"),
        (lambda: _minute(spend_micros=114), "spend_micros"),
        (lambda: _minute(duplicates=0), "duplicates"),
        (lambda: _minute(repeated_clicks=1), "repeated_clicks"),
        (lambda: _minute(ctr=Decimal("0.3334")), "ctr"),
        (lambda: _minute(ctr=None), "ctr"),
        (lambda: replace(_ad_ctr(), minutes={}), "(row)"),
        (lambda: _day(spend_micros=116), "spend_micros"),
        (lambda: _day(time_zone="Asia/Tokyo"), "time_zone"),
        (lambda: _day(budget_micros=1), "budget_micros"),
        (lambda: replace(_client_spend(), days={}), "(row)"),
        (lambda: replace(_quarantine(), quarantine={(0, 6): "late"}), "(row)"),
        (lambda: replace(_quarantine(), quarantine={(0, 5): "late", (0, 6): "late"}), "fate"),
        (lambda: replace(_ad_ctr(), micros={**_ad_ctr().micros, "counted": 116}), "counted_micros"),
    ],
)
def test_each_number_that_is_off_by_one_is_found(make: Callable[[], Served], column: str) -> None:
    assert [difference.column for difference in _verdict(make()).differences] == [column]


def test_a_row_that_must_not_be_is_found() -> None:
    served = _ad_ctr()
    assert served.minutes is not None
    more = replace(served, minutes=served.minutes | {("c1", "a9", NOON): ServedRow(1, 0, 5, 0, 0, Decimal(0))})
    assert [(d.column, d.expected) for d in _verdict(more).differences] == [("(row)", None)]


def test_accounting_that_does_not_sum_up_is_found() -> None:
    served = _ad_ctr()
    wrong = replace(served, records=served.records | {"read": 8})
    assert [d.column for d in _verdict(wrong).differences] == ["read", "sum of fates"]


@pytest.mark.red_without("oracle's agreement", r"assert \[\] == ")
def test_spend_that_differs_between_the_jobs_is_found() -> None:
    differences = _verdict(_minute(spend_micros=116), _client_spend()).across
    assert [(d.view, d.expected, d.served) for d in differences] == [("spend per client", 116, 115)]


def test_only_what_was_committed_is_compared() -> None:
    row = ServedRow(1, 0, 5, 1, 0, Decimal(0))
    records = dict.fromkeys(RECORDS | _ad_ctr().records, 0) | {"read": 2, "counted": 1, "duplicate": 1}
    micros = dict.fromkeys(_ad_ctr().micros, 0) | {"counted": 5, "duplicate": 5}
    behind = replace(_ad_ctr(), end={0: 2}, minutes={KEY: row}, records=records, micros=micros)
    verdict = _verdict(behind)
    assert verdict.differences == []
    assert verdict.jobs[0].unread == 5


def test_windows_of_an_earlier_version_are_not_compared() -> None:
    later = replace(_ad_ctr(), from_ms=NOON + 60_000, minutes={})
    assert _verdict(later).differences == []


def test_a_third_job_is_compared_by_its_own_keys() -> None:
    row = ServedRow(3, 1, 115, 1, 0, Decimal("0.3333333"))
    slot = _job("slot_ctr", keys=("slot_id",), minutes={("s1", NOON): row})
    assert _verdict(slot).differences == []
    wrong = replace(slot, minutes={("s1", NOON): replace(row, spend_micros=1)})
    assert [d.view for d in _verdict(wrong).differences] == ["serving.slot_ctr_minute"]


def test_it_waits_until_the_log_is_read_and_no_longer_than_told() -> None:
    clock = FakeClock()
    reconcile(FakeTopic(LOG), FakeDatabase(_ad_ctr()), None, 60, clock)
    assert clock.at == 0
    reconcile(FakeTopic(LOG), FakeDatabase(replace(_ad_ctr(), end={0: 2})), None, 60, clock)
    assert clock.at == 60


def test_nothing_live_is_refused() -> None:
    with pytest.raises(NothingLive, match="no job has a live version"):
        _verdict()


def test_a_log_that_retention_has_cut_is_refused() -> None:
    with pytest.raises(LogTooShort, match="begins at 3"):
        reconcile(FakeTopic(LOG, first=3), FakeDatabase(_ad_ctr()), None, 0, FakeClock())


@pytest.mark.parametrize(
    ("served", "clicks", "impressions", "holds"),
    [
        ("0.5", 1, 2, True),
        ("0.33333333333333333333", 1, 3, True),
        ("0.33333333333333333334", 1, 3, False),
        ("0.3333", 1, 3, False),
        ("0", 0, 5, True),
        ("0.0000", 0, 5, True),
        (None, 1, 0, True),
        ("0", 1, 0, False),
        (None, 0, 1, False),
        ("2.00000000", 4, 2, True),
    ],
)
def test_a_ctr_is_the_quotient_rounded_at_its_last_digit(
    served: str | None, clicks: int, impressions: int, holds: bool
) -> None:
    assert ctr_holds(None if served is None else Decimal(served), clicks, impressions) is holds
