"""Strict decoding: bytes of the log to events, each broken rule of the contract's section 1 named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Meta
from pyspark.sql import DataFrame

from jobs import schemas

MOST_BYTES = 65_536
MOST_MS = 253_402_300_799_999
MOST_MICROS = 10**12
ID_PATTERN = r"^[A-Za-z0-9_.:\-]{1,64}$"
UUID_PATTERN = r"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$"
NAMES = ("slot_id", "client_id", "ad_id", "user_id")
NO_ID = "00000000-0000-0000-0000-000000000000"


class Event(msgspec.Struct, gc=False):
    """The value of a record; unknown members are ignored, of repeated names the last counts."""

    event_id: str
    event_type: Literal["impression", "click"]
    slot_id: str
    client_id: str
    ad_id: str
    user_id: str
    event_time: Annotated[int, Meta(ge=0, le=MOST_MS)]
    cost_micros: Annotated[int, Meta(ge=0, le=MOST_MICROS)]


NOTHING = Event(NO_ID, "impression", "-", "-", "-", "-", 0, 0)
_HALF_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_decode = msgspec.json.Decoder(Event).decode
_is_id = re.compile(ID_PATTERN[:-1] + r"\Z").match
_is_uuid = re.compile(UUID_PATTERN[:-1] + r"\Z").match


def decode(records: DataFrame, keep_bytes: bool = False) -> DataFrame:
    """RECORD rows to EVENT rows, one each; with `keep_bytes` to EVENT_WITH_BYTES."""
    schema = schemas.EVENT_WITH_BYTES if keep_bytes else schemas.EVENT
    columns = [field.name for field in schemas.RECORD.fields]
    return records.select(*columns).mapInArrow(_decoder(keep_bytes), schema)


def _decoder(keep_bytes: bool) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield decode_batch(batch, keep_bytes)

    return run


def decode_batch(batch: pa.RecordBatch, keep_bytes: bool = False) -> pa.RecordBatch:
    """One Arrow batch of RECORD columns to EVENT columns, in the same order."""
    values, keys = batch.column("value").to_pylist(), batch.column("key").to_pylist()
    text_is_valid = _all_utf8(batch.column("value"))
    events: list[Event] = []
    reasons: list[str | None] = []
    for key, value, stamped in zip(keys, values, batch.column("stamped").to_pylist(), strict=True):
        event, reason = _one(key, value, stamped, text_is_valid)
        events.append(event)
        reasons.append(reason)
    _check_names(events, reasons)
    return _arrow(batch, events, reasons, keep_bytes)


def _one(key: bytes | None, value: bytes | None, stamped: bool, text_is_valid: bool) -> tuple[Event, str | None]:
    """An event, or NOTHING and the rule that the record breaks."""
    if value is None:
        return NOTHING, "the value is missing"
    if len(value) > MOST_BYTES:
        return NOTHING, f"the value has {len(value)} bytes, more than {MOST_BYTES}"
    try:
        if not text_is_valid:
            value.decode()
        event = _event(value)
        if key != event.user_id.encode():
            return NOTHING, "the key is not the user_id"
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return NOTHING, _reason(error)
    return (event, None) if stamped else (NOTHING, "append_time was not stamped by the broker")


def _event(value: bytes) -> Event:
    """The event in a value; what the fast decoder refuses gets a second, slower look.

    It stops at the first copy of a repeated member, and at half a surrogate pair in a member that is ignored (a title
    cut within an emoji), though the last copy counts and the text is JSON.
    """
    try:
        return _decode(value)
    except msgspec.ValidationError:
        return msgspec.convert(msgspec.json.decode(value), Event)
    except msgspec.DecodeError as malformed:
        return _with_half_surrogates(value, malformed)


def _with_half_surrogates(value: bytes, malformed: msgspec.DecodeError) -> Event:
    if not _HALF_SURROGATE.search(value):
        raise malformed
    try:
        event = msgspec.convert(json.loads(value.decode(), parse_constant=_no_constant), Event)
    except json.JSONDecodeError:
        raise malformed from None
    if broken := _broken_name(event):
        raise msgspec.ValidationError(broken)
    return event


def _no_constant(name: str) -> None:
    raise json.JSONDecodeError(f"{name} is not JSON", name, 0)


def _reason(error: Exception) -> str:
    """The broken rule in words, without control characters."""
    if isinstance(error, UnicodeError):
        return "the value is not UTF-8"
    if isinstance(error, RecursionError):
        return "the value is nested too deeply"
    return re.sub(r"[^ -~]", "?", str(error))[:200]


def _all_utf8(values: pa.Array) -> bool:
    """Whether every value is UTF-8, at the price of one pass in C; the decoder does not look at what it skips."""
    try:
        values.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def _check_names(events: list[Event], reasons: list[str | None]) -> None:
    """Refuse events whose ids break their pattern: all of a batch at once in C, the culprits again one by one."""
    columns = [[getattr(event, name) for event in events] for name in NAMES]
    fine = all(pc.all(pc.match_substring_regex(pa.array(c, pa.string()), ID_PATTERN)).as_py() for c in columns)
    ids = pa.array([event.event_id for event in events], pa.string())
    if fine and pc.all(pc.match_substring_regex(ids, UUID_PATTERN)).as_py():
        return
    for index, event in enumerate(events):
        reason = _broken_name(event)
        if reason and reasons[index] is None:
            events[index], reasons[index] = NOTHING, reason


def _broken_name(event: Event) -> str | None:
    if not _is_uuid(event.event_id):
        return "event_id is not a UUID"
    return next((f"{n} breaks the rule for ids" for n in NAMES if not _is_id(getattr(event, n))), None)


def _arrow(batch: pa.RecordBatch, events: list[Event], reasons: list[str | None], keep_bytes: bool) -> pa.RecordBatch:
    refused = pa.array([reason is not None for reason in reasons], pa.bool_())
    columns = [
        *(batch.column(name) for name in ("partition", "offset", "append_ms", "stamped")),
        *(pc.if_else(refused, None, column) for column in _fields(events)),
        pa.array(reasons, pa.string()),
        *((batch.column("key"), batch.column("value")) if keep_bytes else ()),
    ]
    schema = schemas.EVENT_WITH_BYTES if keep_bytes else schemas.EVENT
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def _fields(events: Iterable[Event]) -> Iterator[pa.Array]:
    """The columns of EVENT from event_id to cost_micros."""
    yield _uuid_bytes([e.event_id for e in events])
    yield pa.array([e.event_type == "click" for e in events], pa.bool_())
    for name in NAMES:
        yield pa.array([getattr(e, name) for e in events], pa.string())
    yield pa.array([e.event_time for e in events], pa.int64())
    yield pa.array([e.cost_micros for e in events], pa.int64())


def _uuid_bytes(ids: list[str]) -> pa.Array:
    """UUIDs to their 16 bytes, by one call for all of them."""
    data = bytes.fromhex("".join(ids).replace("-", ""))
    return pa.Array.from_buffers(pa.binary(16), len(ids), [None, pa.py_buffer(data)]).cast(pa.binary())
