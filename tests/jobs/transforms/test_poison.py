"""Poison: nothing that a record holds ends a batch, moves its neighbours, or is decided by anything but the record."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from jobs.transforms import decode
from oracle.decode import Event, LogRecord
from oracle.decode import decode as by_oracle
from tests.jobs.transforms.test_decode import GOOD, SCHEMA, as_json, with_member

DIGITS = b"1" * 4_301
"""One more than Python reads as an integer unless it is told otherwise."""
HALF = b'"x":"\\ud800"'


def _nested(levels: int, opened: bytes = b"[", closed: bytes = b"]") -> bytes:
    return opened * levels + closed * levels


def _objects(levels: int) -> bytes:
    return b'{"a":' * (levels - 1) + b"{}" + b"}" * (levels - 1)


def _first(member: bytes) -> bytes:
    """A good event with this member before all others, so that a later one of its name counts."""
    return b"{" + member + b"," + as_json()[1:]


STRANGE_EVENTS = {
    "half a surrogate beside 4,301 digits": with_member(HALF + b',"y":' + DIGITS),
    "half a surrogate in a name beside 4,301 digits": with_member(b'"\\udfff":' + DIGITS),
    "half a surrogate in the name of a nested member": with_member(b'"x":{"\\ud800":[{"\\udc00":0}]}'),
    "an exponent beyond any float": with_member(b'"x":1e999999,"y":-1E+999999'),
    "an exponent beyond any float beside half a surrogate": with_member(HALF + b',"y":1e999999'),
    "a fraction of 4,301 digits beside half a surrogate": with_member(HALF + b',"y":0.' + DIGITS),
    "a wrong first copy beside half a surrogate": _first(HALF + b',"cost_micros":"5"'),
    "a wrong first copy of 4,301 digits": _first(b'"cost_micros":' + DIGITS),
    "a wrong first copy beyond any float": _first(b'"event_time":1e999999'),
    "a wrong first copy that holds half a surrogate": _first(b'"ad_id":"\\ud800"'),
    "a wrong first copy whose name is escaped": _first(b'"\\u0061d_id":{"\\ud800":1e999999}'),
    "wrong first copies of every field": _first(b",".join(b'"%s":null' % n.encode() for n in GOOD)),
    "64 levels of arrays": with_member(b'"x":' + _nested(63)),
    "64 levels of objects": with_member(b'"x":' + _objects(63)),
    "64 levels, mixed": with_member(b'"x":' + b'[{"a":' * 31 + b"[]" + b"}]" * 31),
    "64 levels in a first copy": _first(b'"ad_id":' + _nested(63)),
    "64 levels beside half a surrogate": with_member(HALF + b',"y":' + _objects(63)),
    "many brackets, few levels": with_member(b'"x":[' + b"{}," * 5_000 + b"[]]"),
    "brackets within strings": with_member(b'"x":"' + b"[{" * 500 + b'\\"[\\\\","' + b"[" * 500 + b'":"}]"'),
    "minus zero": as_json(cost_micros=1).replace(b'"cost_micros": 1', b'"cost_micros": -0'),
    "an escaped name that comes last": with_member(b'"cost\\u005fmicros":1000000000000'),
    "NUL in an ignored member": with_member(b'"x\\u0000":"\\u0000"'),
}
POISON = {
    "half a surrogate beside 4,301 digits, and no field": (b"{" + HALF + b',"y":' + DIGITS + b"}", "event_id"),
    "null": (None, "missing"),
    "empty": (b"", "not JSON"),
    "white": (b" \r\n\t", "not JSON"),
    "not JSON": (b"hello, world", "not JSON"),
    "a megabyte": (with_member(b'"x":"' + b"y" * 2**20 + b'"'), "too many bytes, more than 65536"),
    "bad UTF-8 in a field": (as_json().replace(b"top-1", b"\xc0\x80"), "not UTF-8"),
    "bad UTF-8 in an ignored member": (with_member(b'"x":"\xed\xa0\x80"'), "not UTF-8"),
    "bad UTF-8 in an ignored name": (with_member(b'"\xf5":1'), "not UTF-8"),
    "a byte order mark": (b"\xef\xbb\xbf" + as_json(), "not JSON"),
    "UTF-16": (as_json().decode().encode("utf-16"), "not UTF-8"),
    "a NUL after the object": (as_json() + b"\0", "not JSON: Extra data"),
    "a NUL within a string": (with_member(b'"x":"\0"'), "not JSON"),
    "a form feed between members": (as_json().replace(b", ", b",\x0c"), "not JSON"),
    "a missing field": (as_json().replace(b'"ad_id"', b'"ad"'), "missing required field `ad_id`"),
    "-1": (as_json(cost_micros=-1), "`int` >= 0"),
    "1.5": (as_json(cost_micros=1.5), "got `float`"),
    "2^63": (as_json(cost_micros=2**63), "`int` <= 1000000000000"),
    "-2^63": (as_json(event_time=-(2**63)), "`int` >= 0"),
    "4,301 digits in a field": (with_member(b'"cost_micros":' + DIGITS), "`int` <= 1000000000000"),
    "minus 4,301 digits in a field": (with_member(b'"event_time":-' + DIGITS), "`int` >= 0"),
    "an exponent beyond any float in a field": (with_member(b'"cost_micros":1e999999'), "got `float`"),
    "minus zero with a fraction": (with_member(b'"cost_micros":-0.0'), "got `float`"),
    "a leading zero": (with_member(b'"cost_micros":05'), "not JSON"),
    "NaN": (with_member(b'"x":NaN'), "holds NaN"),
    "-Infinity beside half a surrogate": (with_member(HALF + b',"y":-Infinity'), "holds -Infinity"),
    "half a surrogate in an id": (with_member(b'"ad_id":"a\\ud800"'), "ad_id breaks the rule"),
    "half a surrogate in the user": (with_member(b'"user_id":"\\udc00"'), "user_id breaks the rule"),
    "half a surrogate in event_id": (with_member(b'"event_id":"\\udc00"'), "event_id is not a UUID"),
    "half a surrogate in event_type": (with_member(b'"event_type":"\\udc00"'), "."),
    "a wrong last copy by an escaped name": (with_member(b'"\\u0061d_id":5'), r"got `int` - at `\$.ad_id`"),
    "65 levels of arrays": (with_member(b'"x":' + _nested(64)), "deeper than 64 levels"),
    "65 levels of objects": (with_member(b'"x":' + _objects(64)), "deeper than 64 levels"),
    "65 levels, mixed": (with_member(b'"x":' + b'[{"a":' * 32 + b"}]" * 32), "deeper than 64 levels"),
    "65 levels in a first copy": (_first(b'"ad_id":' + _nested(64)), "deeper than 64 levels"),
    "65 levels after brackets in strings": (with_member(b'"]]\\"]":' + _nested(64)), "deeper than 64 levels"),
    "60,000 levels": (_nested(30_000), "deeper than 64 levels"),
    "60,000 levels that never end": (b"[" * 60_000, "deeper than 64 levels"),
    "a string that never ends": (b'{"x":"' + b'\\"' * 32_000, "not JSON"),
    "closings without openings": (b"]" * 60_000, "not JSON"),
    "a message of odd characters": (with_member(b'"event_type":"\\u0000\\u202e\\ud83d\\ude00"'), "event_type"),
}
TIMES = {
    "the year 9999": (253_402_300_799_999, None),
    "the year 10000": (253_402_300_800_000, "`int` <= 253402300799999"),
    "epoch 0": (0, None),
    "before the epoch": (-1, "`int` >= 0"),
    "a year ahead": (1_795_262_400_000 + 365 * 86_400_000, None),
    "beyond what a double holds exactly": (2**53 + 1, "`int` <= 253402300799999"),
    "microseconds": (1_795_262_400_000_000, "`int` <= 253402300799999"),
}


def _decoded(*values: bytes | None, keep_bytes: bool = False) -> list[dict[str, Any]]:
    rows = [
        {"partition": 0, "offset": n, "append_ms": 9, "stamped": True, "key": b"u_1", "value": value}
        for n, value in enumerate(values)
    ]
    found = decode.decode_batch(pa.RecordBatch.from_pylist(rows, schema=SCHEMA), keep_bytes)
    listed: list[dict[str, Any]] = found.to_pylist()
    return listed


def _oracle(value: bytes | None) -> Event | str:
    return by_oracle(LogRecord(0, 0, 9, True, b"u_1", value))


@pytest.fixture
def little_room() -> Iterator[None]:
    """Little room left on Python's stack, and its smallest limit on digits: neither may decide anything."""
    recursion, digits = sys.getrecursionlimit(), sys.get_int_max_str_digits()
    sys.setrecursionlimit(_depth() + 160)
    sys.set_int_max_str_digits(640)
    yield
    sys.setrecursionlimit(recursion)
    sys.set_int_max_str_digits(digits)


def _depth() -> int:
    frame, depth = sys._getframe(), 0
    while frame := frame.f_back:  # type: ignore[assignment]
        depth += 1
    return depth


@pytest.mark.parametrize("name", STRANGE_EVENTS)
def test_what_is_strange_and_allowed_is_an_event_for_both_decoders(name: str) -> None:
    (event,) = _decoded(STRANGE_EVENTS[name])
    assert event["reason"] is None
    assert event["cost_micros"] == (0 if name == "minus zero" else GOOD["cost_micros"])
    assert isinstance(_oracle(STRANGE_EVENTS[name]), Event)


@pytest.mark.fault("F18", "each poison in quarantine with its reason, its neighbours counted")
@pytest.mark.parametrize("name", POISON)
def test_poison_is_a_dead_letter_with_its_reason_for_both_decoders(name: str) -> None:
    value, reason = POISON[name]
    before, bad, after = _decoded(as_json(cost_micros=1), value, as_json(cost_micros=2))
    assert re.search(reason, bad["reason"]), bad["reason"]
    assert len(bad["reason"]) <= 200
    assert re.fullmatch("[ -~]+", bad["reason"])
    assert (before["cost_micros"], bad["cost_micros"], after["cost_micros"]) == (1, None, 2)
    assert isinstance(_oracle(value), str)


@pytest.mark.fault("F18", "each poison in quarantine with its reason, its neighbours counted")
@pytest.mark.parametrize("keep_bytes", [False, True])
def test_all_poisons_in_one_batch_leave_the_events_among_them(keep_bytes: bool) -> None:
    values = [value for poison, _ in POISON.values() for value in (as_json(), poison)]
    found = _decoded(*values, keep_bytes=keep_bytes)
    assert [row["reason"] is None for row in found] == [True, False] * len(POISON)


@pytest.mark.usefixtures("little_room")
def test_neither_the_stack_nor_a_limit_on_digits_decides() -> None:
    strange, poison = list(STRANGE_EVENTS.values()), [value for value, _ in POISON.values()]
    assert [row["reason"] for row in _decoded(*strange)] == [None] * len(strange)
    assert all(row["reason"] for row in _decoded(*poison))
    assert all(isinstance(_oracle(value), Event) for value in strange)
    assert all(isinstance(_oracle(value), str) for value in poison)


@pytest.mark.fault("F19", "far-future records in quarantine, good ones beside them counted")
@pytest.mark.parametrize("name", TIMES)
def test_a_far_time_is_read_exactly_or_refused(name: str) -> None:
    time, reason = TIMES[name]
    (event,) = _decoded(as_json(event_time=time))
    assert event["event_ms"] == (time if reason is None else None)
    assert (event["reason"] is None) if reason is None else re.search(reason, event["reason"])


@pytest.mark.parametrize(
    "error", [KeyError("\ud800"), AssertionError(), RecursionError("x" * 999), OverflowError("\0")]
)
def test_an_error_that_nobody_foresaw_is_that_record_s_reason(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    _break_for(monkeypatch, b"!", error)
    before, bad, after = _decoded(as_json(), with_member(b'"x":"!"'), as_json())
    assert before["reason"] is after["reason"] is None
    assert bad["reason"].startswith(f"the value cannot be decoded: {type(error).__name__}")
    assert re.fullmatch("[ -~]{1,200}", bad["reason"])


def test_a_machine_without_memory_says_nothing_about_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    _break_for(monkeypatch, b"!", MemoryError())
    with pytest.raises(MemoryError):
        _decoded(with_member(b'"x":"!"'))


def _break_for(monkeypatch: pytest.MonkeyPatch, mark: bytes, error: Exception) -> None:
    """The fast decoder fails on values that hold `mark`."""
    fast = decode._decode

    def broken(value: bytes) -> decode.Event:
        if mark in value:
            raise error
        return fast(value)

    monkeypatch.setattr(decode, "_decode", broken)


@pytest.mark.timeout(30)
def test_looking_for_levels_takes_no_longer_than_a_text_is_long() -> None:
    """Milliseconds. With a pattern that begins again at each quote of a string without an end it is over a minute."""
    for value in (b'{"x":"' + b'\\"' * 32_000, b"\\" * 65_000, b'"' * 65_000, b'[\\"' * 21_000, b'["\\' * 21_000):
        (bad,) = _decoded(value)
        assert bad["reason"]
