"""The strict reading: good payloads, and every kind of bad one."""

from __future__ import annotations

import json

import pytest

from oracle.decode import Event, LogRecord, decode

GOOD: dict[str, object] = {
    "event_id": "0B1d6a1a-0000-4000-8000-00000000000F",
    "event_type": "impression",
    "slot_id": "s1",
    "client_id": "c1",
    "ad_id": "a1",
    "user_id": "u1",
    "event_time": 1_700_000_000_000,
    "cost_micros": 5,
}


def _text(**changes: object) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()


def _more(text: str) -> bytes:
    """A good object with more members at its end."""
    return _text()[:-1] + b"," + text.encode() + b"}"


def _decoded(value: bytes | None, key: bytes | None = b"u1", stamped: bool = True) -> Event | str:
    return decode(LogRecord(0, 0, 0, stamped, key, value))


@pytest.mark.parametrize(
    "value",
    [
        _text(),
        b" \t\r\n" + _text() + b"\n",
        _text(event_time=0),
        _text(event_time=253_402_300_799_999),
        _text(cost_micros=0),
        _text(cost_micros=10**12),
        _text(ad_id="A" * 64),
        _text(ad_id="aZ09_.:-"),
        _more('"other": [1.5, 1e400, null, {"x": "\\ud800"}]'),
        _more('"other": ' + "9" * 5_000),
        _more('"cost_micros": 7'),
        _text(cost_micros=-1)[:-1] + b',"cost_micros":7}',
        _more('"x": ' + "[" * 63 + "]" * 63),
        _more('"\\u0061d_id": "a2"'),
        _text() + b" " * (65_536 - len(_text())),
        _text().replace(b": 5}", b": -0}"),
    ],
)
def test_good_payloads_are_events(value: bytes) -> None:
    assert isinstance(_decoded(value), Event)


def test_the_event_id_is_compared_in_lower_case_and_the_last_name_counts() -> None:
    event = _decoded(_more('"cost_micros": 7'))
    assert isinstance(event, Event)
    assert (event.event_id, event.cost_micros) == ("0b1d6a1a-0000-4000-8000-00000000000f", 7)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "no value"),
        (b"", "not JSON"),
        (b"hello", "not JSON"),
        (b"null", "not an object"),
        (b"[]", "not an object"),
        (b'"text"', "not an object"),
        (b"[" + _text() + b"]", "not an object"),
        (_text() + b"x", "not JSON"),
        (_text() + _text(), "not JSON"),
        (_text()[:-1], "not JSON"),
        (b"\xef\xbb\xbf" + _text(), "not JSON"),
        (_text().replace(b'"', b"'"), "not JSON"),
        (_text()[:-1] + b",}", "not JSON"),
        (_more('"x": 01'), "not JSON"),
        (_more('"x": NaN'), "not JSON"),
        (_more('"x": -Infinity'), "not JSON"),
        (_more('"x": "a\x00b"'), "not JSON"),
        (_more('"x": ' + "[" * 30_000 + "]" * 30_000), "nested too deeply"),
        (_more('"x": ' + "[" * 64 + "]" * 64), "nested too deeply"),
        (_text()[:-1] + b',"x": "\xff"}', "not UTF-8"),
        (_text()[:-1] + b',"x": "\xed\xa0\x80"}', "not UTF-8"),
        (_text().decode().encode("utf-16"), "not UTF-8"),
        (_text() + b" " * (65_537 - len(_text())), "too large"),
        (_text(event_id="0b1d6a1a00004000800000000000000f"), "event_id"),
        (_text(event_id="0b1d6a1a-0000-4000-8000-00000000000g"), "event_id"),
        (_text(event_id=str(GOOD["event_id"]) + "\n"), "event_id"),
        (_text(event_id=7), "event_id"),
        (_text(event_type="view"), "event_type"),
        (_text(event_type="Click"), "event_type"),
        (_text(event_type=["click"]), "event_type"),
        (_text(ad_id=""), "ad_id"),
        (_text(ad_id="a" * 65), "ad_id"),
        (_text(ad_id="a b"), "ad_id"),
        (_text(ad_id="é"), "ad_id"),
        (_text(ad_id="a\n"), "ad_id"),
        (_text(ad_id="\u0661"), "ad_id"),
        (_text(ad_id=None), "ad_id"),
        (_more('"ad_id": "a\\u0000b"'), "ad_id"),
        (_more('"ad_id": "a\\ud800"'), "ad_id"),
        (_text(event_time="1700000000000"), "event_time"),
        (_text(event_time=-1), "event_time"),
        (_text(event_time=253_402_300_800_000), "event_time"),
        (_more('"event_time": 1700000000000.0'), "event_time"),
        (_more('"event_time": 17e11'), "event_time"),
        (_text(cost_micros=True), "cost_micros"),
        (_text(cost_micros=1.5), "cost_micros"),
        (_text(cost_micros=10**12 + 1), "cost_micros"),
        (_text(cost_micros=2**63), "cost_micros"),
        (_more('"cost_micros": ' + "9" * 5_000), "cost_micros"),
        (_more('"cost_micros": null'), "cost_micros"),
    ],
)
def test_bad_payloads_are_dead_letters(value: bytes | None, reason: str) -> None:
    assert _decoded(value) == reason


@pytest.mark.parametrize("field", list(GOOD))
def test_every_field_is_required(field: str) -> None:
    left = {name: value for name, value in GOOD.items() if name != field}
    assert _decoded(json.dumps(left).encode()) == field


@pytest.mark.parametrize("key", [None, b"", b"u2", b"U1", b"u1 "])
def test_the_key_must_be_the_user(key: bytes | None) -> None:
    assert _decoded(_text(), key=key) == "key is not user_id"


def test_a_record_that_the_broker_did_not_stamp_is_a_dead_letter() -> None:
    assert _decoded(_text(), stamped=False) == "not stamped by the broker"
