"""Strict decoding: what is an event, and what each broken rule is called."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa
import pytest

from jobs.transforms.decode import decode_batch

GOOD: dict[str, Any] = {
    "event_id": "0F8FAD5B-d9cb-469f-a165-70867728950e",
    "event_type": "click",
    "slot_id": "top-1",
    "client_id": "c.1",
    "ad_id": "a:1",
    "user_id": "u_1",
    "event_time": 253_402_300_799_999,
    "cost_micros": 10**12,
}
SCHEMA = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("append_ms", pa.int64()),
        ("stamped", pa.bool_()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("value_bytes", pa.int64()),
    ]
)


def _decode(*values: bytes | None, key: bytes | None = b"u_1", stamped: bool = True) -> list[dict[str, Any]]:
    rows = [
        {"partition": 3, "offset": n, "append_ms": 9, "stamped": stamped, "key": key, "value": value}
        for n, value in enumerate(values)
    ]
    found: list[dict[str, Any]] = decode_batch(pa.RecordBatch.from_pylist(rows, schema=SCHEMA)).to_pylist()
    return found


def as_json(**changes: Any) -> bytes:
    """A good event with other values."""
    return json.dumps({**GOOD, **changes}).encode()


def with_member(member: bytes) -> bytes:
    """A good event with one more member at its end."""
    return as_json()[:-1] + b"," + member + b"}"


def test_an_event_becomes_its_columns() -> None:
    (event,) = _decode(as_json())
    assert event == {
        "partition": 3,
        "offset": 0,
        "append_ms": 9,
        "stamped": True,
        "event_id": bytes.fromhex("0f8fad5bd9cb469fa16570867728950e"),
        "is_click": True,
        "slot_id": "top-1",
        "client_id": "c.1",
        "ad_id": "a:1",
        "user_id": "u_1",
        "event_ms": 253_402_300_799_999,
        "cost_micros": 10**12,
        "reason": None,
    }


@pytest.mark.parametrize(
    "value",
    [
        as_json(event_time=0, cost_micros=0),
        as_json(extra={"deep": [1, None, 1.5]}),
        b" \r\n\t" + as_json() + b"\n",
        as_json().replace(b"event_id", b"event\\u005fid"),
        with_member(b'"event_type":"impression"'),
        as_json(cost_micros="x")[:-1] + b',"cost_micros":5}',
        as_json(slot_id="s" * 64),
        as_json(title="cut \ud83d"),
        with_member(b'"x":"' + b"y" * (65_536 - len(as_json()) - 7) + b'"'),
    ],
)
def test_what_the_contract_allows_is_an_event(value: bytes) -> None:
    assert _decode(value)[0]["reason"] is None


def test_of_repeated_names_the_last_counts() -> None:
    assert _decode(with_member(b'"cost_micros":7'))[0]["cost_micros"] == 7


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "missing"),
        (b"", "not JSON: Expecting value"),
        (b"[]", "not an object"),
        (b"null", "not an object"),
        (as_json() + b"x", "not JSON: Extra data"),
        (as_json() + as_json(), "not JSON: Extra data"),
        (b"\xef\xbb\xbf" + as_json(), "not JSON"),
        (b"\xff" + as_json(), "not UTF-8"),
        (with_member(b'"x":"\xff"'), "not UTF-8"),
        (with_member(b'"x":NaN'), "not JSON: it holds NaN"),
        (with_member(b'"x":01'), "not JSON"),
        (with_member(b'"x":"\x01"'), "not JSON"),
        (with_member(b'"x":1,'), "not JSON"),
        (as_json().replace(b'"', b"'"), "not JSON"),
        (with_member(b'"x":' + b"[" * 3000 + b"]" * 3000), "nested deeper than 64 levels"),
        (with_member(b'"x":"' + b"y" * 65_536 + b'"'), "more than 65536"),
        (as_json(event_time=-1), ">= 0"),
        (as_json(event_time=253_402_300_800_000), "<= 253402300799999"),
        (as_json(event_time=1.0), "got `float`"),
        (as_json(event_time="1"), "got `str`"),
        (as_json(event_time=True), "got `bool`"),
        (as_json(event_time=None), "got `null`"),
        (as_json(cost_micros=10**12 + 1), "<= 1000000000000"),
        (as_json(cost_micros=2**63), "<= 1000000000000"),
        (as_json(cost_micros=2**70), "<= 1000000000000"),
        (with_member(b'"cost_micros":1e3'), "got `float`"),
        (as_json(event_type="view"), "event_type"),
        (as_json(event_id="0f8fad5bd9cb469fa16570867728950e"), "event_id is not a UUID"),
        (as_json(event_id="0f8fad5b-d9cb-469f-a165-70867728950g"), "event_id is not a UUID"),
        (as_json(event_id=GOOD["event_id"] + "\n"), "event_id is not a UUID"),
        (as_json(slot_id=""), "slot_id"),
        (as_json(slot_id="s" * 65), "slot_id"),
        (as_json(ad_id="a b"), "ad_id"),
        (as_json(ad_id="a\n"), "ad_id"),
        (as_json(ad_id="a\u0000"), "ad_id"),
        (as_json(client_id="é"), "client_id"),
        (as_json(client_id=5), "got `int`"),
        (as_json(user_id="u_2"), "key"),
        (as_json(user_id="\ud800"), "user_id"),
        (as_json(ad_id="\ud800"), "ad_id"),
        (as_json(title="cut \ud83d")[:-1] + b',"x":NaN}', "not JSON"),
        (as_json(title="cut \ud83d") + b"x", "not JSON: Extra data"),
        (as_json().replace(b'"ad_id"', b'"ad"'), "missing required field `ad_id`"),
    ],
)
def test_a_broken_rule_is_named(value: bytes | None, reason: str) -> None:
    (event,) = _decode(value)
    assert event["reason"] is not None
    assert re.search(reason, event["reason"])
    assert event["event_id"] is event["event_ms"] is event["cost_micros"] is None


def test_a_key_that_is_missing_or_another_is_refused() -> None:
    assert _decode(as_json(), key=None)[0]["reason"] == "the key is not the user_id"
    assert _decode(as_json(), key=b"u_10")[0]["reason"] == "the key is not the user_id"


def test_a_record_that_the_broker_did_not_stamp_is_refused() -> None:
    assert "stamped" in _decode(as_json(), stamped=False)[0]["reason"]


def test_neighbours_of_a_refused_record_are_exact() -> None:
    before, bad, after = _decode(as_json(cost_micros=1), b"\xff{}", as_json(cost_micros=2))
    assert (before["cost_micros"], bad["cost_micros"], after["cost_micros"]) == (1, None, 2)


def test_an_empty_batch_stays_empty() -> None:
    assert _decode() == []
