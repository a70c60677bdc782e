"""From a log and a database to a verdict, on fakes of both ports: each number that is off is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from hashlib import md5

import pytest

from oracle.compare import ctr_holds
from oracle.decode import LogRecord
from oracle.fates import Kept
from oracle.reconcile import NothingLive, reconcile
from oracle.served import Served, ServedRow, Snapshot, Told
from tests.oracle.fake_ports import FakeClock, FakeDatabase, FakeTopic
from tests.oracle.served_jobs import (
    AT,
    KEPT,
    LOG,
    NOON,
    ad_ctr,
    client_spend,
    quarantine,
    said,
    served,
    verdict,
    version,
)


def test_what_is_as_it_must_be_has_no_difference() -> None:
    found = verdict(ad_ctr(), client_spend(), quarantine())
    assert said(found) == []
    assert [sum(job.rows.values()) for job in found.jobs] == [3, 3, 4]
    assert [job.uncompared for job in found.jobs] == [[], [], []]
    assert found.across_uncompared == []


def _kept(place: tuple[int, int], **changes: object) -> Served:
    return quarantine({**KEPT, place: replace(KEPT[place], **changes)})  # type: ignore[arg-type]


@pytest.mark.red_without("oracle's column", r"assert \[\] == \['", "{column}")
@pytest.mark.parametrize(
    ("make", "column"),
    [
        (lambda: ad_ctr(impressions=4, ctr=Decimal("0.25")), "impressions"),
        (lambda: ad_ctr(clicks=2, ctr=Decimal("0.66666667")), "clicks"),
        (lambda: ad_ctr(spend_micros=116), "spend_micros"),
        (lambda: ad_ctr(spend_micros=114), "spend_micros"),
        (lambda: ad_ctr(duplicates=0), "duplicates"),
        (lambda: ad_ctr(repeated_clicks=1), "repeated_clicks"),
        (lambda: ad_ctr(ctr=Decimal("0.3334")), "ctr"),
        (lambda: ad_ctr(ctr=None), "ctr"),
        (lambda: ad_ctr(is_final=True), "is_final"),
        (lambda: replace(ad_ctr(), minutes={}), "(row)"),
        (lambda: replace(ad_ctr(), complete_through=NOON), "complete_through"),
        (lambda: replace(ad_ctr(), complete_through=None), "complete_through"),
        (lambda: client_spend(spend_micros=116), "spend_micros"),
        (lambda: client_spend(time_zone="Asia/Tokyo"), "time_zone"),
        (lambda: client_spend(currency="EUR"), "currency"),
        (lambda: client_spend(budget_micros=1), "budget_micros"),
        (lambda: client_spend(finality="provisional"), "finality"),
        (lambda: replace(client_spend(), days={}), "(row)"),
        (lambda: quarantine({(0, 6): KEPT[0, 6]}), "(row)"),
        (lambda: quarantine({**KEPT, (0, 4): KEPT[0, 6]}), "(row)"),
        (lambda: quarantine({**KEPT, (0, 9): KEPT[0, 6]}), "(row)"),
        (lambda: _kept((0, 5), fate="late"), "fate"),
        (lambda: _kept((0, 5), append_time=NOON + 1), "append_time"),
        (lambda: _kept((0, 5), value=None), "value"),
        (lambda: _kept((0, 6), key="another"), "key"),
        (lambda: _kept((0, 6), value_bytes=3), "value_bytes"),
        (lambda: _kept((0, 6), topic="others"), "topic"),
        (lambda: _kept((0, 6), has_reason=False), "has_reason"),
        (lambda: ad_ctr(version(micros={**version().micros, "counted": 116})), "counted_micros"),
    ],
)
def test_each_number_that_is_off_by_one_is_found(make: Callable[[], Served], column: str) -> None:
    assert [difference.column for difference in verdict(make()).differences] == [column]


def test_a_row_that_must_not_be_is_found() -> None:
    more = ad_ctr()
    assert more.minutes is not None
    more.minutes["c1", "a9", NOON] = ServedRow(1, 0, 5, 0, 0, Decimal(0), False)
    assert [(d.column, d.expected) for d in verdict(more).differences] == [("(row)", None)]


def test_accounting_that_does_not_sum_up_is_found() -> None:
    wrong = ad_ctr(version(records={**version().records, "read": 8}))
    assert [d.column for d in verdict(wrong).differences] == ["read", "sum of fates"]


def test_only_what_was_committed_is_compared() -> None:
    held = version()
    records = dict.fromkeys(held.records, 0) | {"read": 2, "counted": 1, "duplicate": 1}
    micros = dict.fromkeys(held.micros, 0) | {"counted": 5, "duplicate": 5}
    behind = replace(held, end={0: 2}, told={0: Told(NOON + 1_000, None)}, records=records, micros=micros)
    found = verdict(ad_ctr(behind, impressions=1, clicks=0, spend_micros=5, ctr=Decimal(0)))
    assert said(found) == []
    assert found.jobs[0].unread == 5


def test_of_a_refused_record_as_much_is_compared_as_is_kept() -> None:
    """4 KiB of the value, and 256 bytes of a key, of which earlier releases kept all."""
    long = LogRecord(0, 5, NOON, True, b"k" * 300, b"v" * 5_000)
    kept = Kept("ads", NOON, "dead_letter", True, md5(b"k" * 256).hexdigest(), md5(b"v" * 4_096).hexdigest(), 5_000)
    log = [*LOG[:5], long, LOG[6]]
    assert said(verdict(quarantine({**KEPT, (0, 5): kept}), log=log)) == []
    other = replace(kept, value=md5(b"v" * 4_095).hexdigest())
    assert [each[0] for each in said(verdict(quarantine({**KEPT, (0, 5): other}), log=log))] == ["value"]


def test_refused_records_that_are_no_longer_kept_are_not_missing() -> None:
    """Before the offset from which on they are kept nothing is compared; from there on all is."""
    rest = quarantine({(0, 6): KEPT[0, 6]})
    assert [each.column for each in verdict(rest).differences] == ["(row)"]

    def forgetting(job: Served) -> Served:
        return replace(job, versions={1: replace(job.live, kept_from={0: 6})})

    assert said(verdict(forgetting(rest))) == []
    assert said(verdict(forgetting(quarantine()))) == [], "not yet removed"
    assert len(said(verdict(forgetting(quarantine({}))))) == 1


def test_a_third_job_is_compared_by_its_own_keys() -> None:
    row = ServedRow(3, 1, 115, 1, 0, Decimal("0.3333333"), False)
    slot = served("slot_ctr", keys=("slot_id",), minutes={("s1", NOON): row})
    assert said(verdict(slot)) == []
    wrong = replace(slot, minutes={("s1", NOON): replace(row, spend_micros=1)})
    assert [d.view for d in verdict(wrong).differences] == ["serving.slot_ctr_minute"]


def test_it_waits_until_the_log_is_read_and_no_longer_than_told() -> None:
    clock, topic = FakeClock(), FakeTopic({0: LOG}, {})
    reconcile(topic, FakeDatabase(Snapshot((ad_ctr(),), (), AT)), None, 60, clock)
    assert clock.at == 0
    behind = ad_ctr(version(end={0: 2}))
    reconcile(topic, FakeDatabase(Snapshot((behind,), (), AT)), None, 60, clock)
    assert clock.at == 60


def test_nothing_live_is_refused() -> None:
    with pytest.raises(NothingLive, match="no job has a live version"):
        verdict()


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


def test_a_job_that_is_not_there_is_not_passed_over_beside_one_that_is() -> None:
    snapshot = Snapshot((ad_ctr(),), (), AT)
    with pytest.raises(NothingLive, match="no job called typo has a live version"):
        reconcile(FakeTopic({0: LOG}, {}), FakeDatabase(snapshot), frozenset({"ad_ctr", "typo"}), 0, FakeClock())
