"""The peer in one Python thread counts what the oracle counts."""

from __future__ import annotations

from bench.load import KNOBS
from bench.peers.expected import KEYS, RULES
from bench.peers.python_thread import Counts, decoded
from oracle.decode import LogRecord, decode
from oracle.fates import Ledger, Reading
from traffic.malformed import VARIANTS
from traffic.records import Event, encode
from traffic.shape import Axis, Shape
from traffic.synthetic import records

GOOD = Event("0F8FAD5B-D9CB-469F-A165-70867728950E", "click", "s", "c", "a", "u", 1_700_000_000_000, 5)


def test_all_kinds_of_traffic_are_counted_as_the_oracle_does() -> None:
    shape, axis = Shape(11, 20_000, users=300, fractions=KNOBS), Axis(1_700_000_000_000, 200.0, live=False)
    append_ms = axis.start_ms + 20_000 * 200
    counts, ledger = Counts(), Ledger(Reading(RULES, ((0, 0),), ((0, 20_000),)), frozenset({KEYS}))
    for offset, record in enumerate(records(shape, axis)):
        counts.take(record.key, record.value, append_ms)
        logged = LogRecord(0, offset, append_ms, True, record.key, record.value)
        ledger.take(logged, decode(logged))
    assert ledger.records.keys() >= {"counted", "duplicate", "repeated_click", "late", "future", "dead_letter"}
    rows = {key: (row.impressions, row.clicks, row.spend_micros) for key, row in ledger.rows[KEYS].items()}
    assert {key: tuple(row) for key, row in counts.rows.items()} == rows


def test_each_malformed_record_is_dropped() -> None:
    assert decoded(b"u", encode(GOOD)) is not None
    assert [each.name for each in VARIANTS if decoded(*each.broken(b"u", encode(GOOD)))] == []


def test_only_rows_that_changed_are_written_again() -> None:
    counts = Counts()
    counts.take(b"u", encode(GOOD), GOOD.event_time)
    assert counts.take_changed() == [("c", "a", 1_699_999_980_000, 0, 1, 5)]
    counts.take(b"u", encode(GOOD), GOOD.event_time)
    assert counts.take_changed() == []
