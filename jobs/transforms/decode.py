"""Strict decoding: bytes of the log to events, each broken rule of the contract's section 1 named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Annotated, Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Meta
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from jobs import schemas
from jobs.transforms.python_worker import on_each_batch

MOST_BYTES = 65_536
KEPT_VALUE, KEPT_KEY = 4096, 256
"""What a job that keeps refused records keeps of one, in bytes; a key that counts has 64 at most."""
KEPT = StructType([*schemas.EVENT_WITH_BYTES.fields, StructField("value_bytes", LongType())])
"""An event beside its key and value, both cut, and what the whole value had."""
MOST_LEVELS = 64
"""Objects and arrays may stand in one another so deep; the record's own object is the first level."""
MOST_MS = 253_402_300_799_999
MOST_MICROS = 10**12
ID_PATTERN = r"^[A-Za-z0-9_.:\-]{1,64}$"
UUID_PATTERN = r"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$"
NAMES = ("slot_id", "client_id", "ad_id", "user_id")
TEXTS = {"event_id": UUID_PATTERN, **dict.fromkeys(NAMES, ID_PATTERN)}
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
FIELDS = Event.__struct_fields__
_MOST_DIGITS = 30
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A JSON string, or one that never ends: every quote is in a match, so a search takes linear time in any text."""
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_decode = msgspec.json.Decoder(Event).decode
_is_id = re.compile(ID_PATTERN[:-1] + r"\Z").match
_is_uuid = re.compile(UUID_PATTERN[:-1] + r"\Z").match


class BrokenRule(Exception):  # noqa: N818 - a verdict on a record, kept as its reason
    """A rule of the contract's section 1 that a record breaks, in words."""


def decode(records: DataFrame) -> DataFrame:
    """RECORD rows to EVENT rows, one each."""
    return cut(records).mapInArrow(on_each_batch(decode_batch), schemas.EVENT)


def cut(records: DataFrame) -> DataFrame:
    """RECORD rows and their `value_bytes`, with keys and values no longer than it takes to refuse them.

    A broker may allow keys and values of any length: they end here, before anything holds many of them.
    """
    whole = [field.name for field in schemas.RECORD.fields if field.name not in ("key", "value")]
    short = [F.substring(name, 1, MOST_BYTES + 1).alias(name) for name in ("key", "value")]
    return records.select(*whole, *short, F.length("value").cast("long").alias("value_bytes"))


def decode_batch(batch: pa.RecordBatch, keep_bytes: bool = False) -> pa.RecordBatch:
    """One Arrow batch as `cut` makes it to EVENT columns, in the same order; with `keep_bytes` also the kept bytes."""
    values, keys = batch.column("value").to_pylist(), batch.column("key").to_pylist()
    text_is_valid = _all_utf8(batch.column("value"))
    events: list[Event] = []
    reasons: list[str | None] = []
    for key, value, stamped in zip(keys, values, batch.column("stamped").to_pylist(), strict=True):
        event, reason = _one(key, value, stamped, text_is_valid)
        events.append(event)
        reasons.append(reason)
    texts = _check_names(events, reasons)
    return _arrow(batch, _fields(events, texts), reasons, keep_bytes)


def _one(key: bytes | None, value: bytes | None, stamped: bool, text_is_valid: bool) -> tuple[Event, str | None]:
    """An event, or NOTHING and the rule that the record breaks. It never raises for what a record holds."""
    if value is None:
        return NOTHING, "the value is missing"
    if len(value) > MOST_BYTES:
        return NOTHING, f"the value has too many bytes, more than {MOST_BYTES}"
    try:
        if not text_is_valid:
            value.decode()
        event = _event(value)
        if key != event.user_id.encode():
            return NOTHING, "the key is not the user_id"
    except MemoryError:
        raise  # the machine's fault: the same record is an event on the next try
    except Exception as error:
        # The one place that catches everything, on purpose: whatever else goes wrong here, the record alone has caused
        # it, and would again. Raised, it would end this batch, every restart and every replay, for all other records.
        return NOTHING, _reason(error)
    return (event, None) if stamped else (NOTHING, "append_time was not stamped by the broker")


def _event(value: bytes) -> Event:
    """The event in a value: what the fast decoder takes, and what it refuses by a second, slower look."""
    if value.count(b"{") + value.count(b"[") > MOST_LEVELS and _levels(value) > MOST_LEVELS:
        raise BrokenRule(f"the value is nested deeper than {MOST_LEVELS} levels")
    try:
        return _decode(value)
    except (msgspec.MsgspecError, ValueError):
        return _second_look(value)


def _second_look(value: bytes) -> Event:
    """The event in a value by Python's parser, whose verdict stands.

    The fast decoder stops at the first copy of a repeated member, though the last counts, and at half a surrogate pair
    in a member that is ignored (a title cut within an emoji), though the text is JSON. Only the members that count are
    converted. Python's limit on the digits of an integer is not met: no rule may depend on it.
    """
    members = _parse(value.decode())
    if not isinstance(members, dict):
        raise BrokenRule("the value is JSON, but not an object")
    event = msgspec.convert({name: members[name] for name in FIELDS if name in members}, Event)
    if broken := _broken_name(event):
        raise BrokenRule(broken)
    return event


def _integer(digits: str) -> int:
    """A JSON integer; of a longer one its beginning, which has its sign and is beyond every bound, too."""
    return int(digits[:_MOST_DIGITS])


def _fraction(_number: str) -> float:
    """Some fraction: no field that counts may be any, and an ignored one may have any size."""
    return 0.5


def _no_constant(name: str) -> None:
    raise BrokenRule(f"the value is not JSON: it holds {name}")


_parse = json.JSONDecoder(parse_int=_integer, parse_float=_fraction, parse_constant=_no_constant).decode


def _levels(value: bytes) -> int:
    """How deep objects and arrays stand in one another; exact for JSON, and up to the first error in other text."""
    brackets = _STRING.sub(b"", value).translate(None, _NO_BRACKETS)
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0)


def _reason(error: Exception) -> str:
    """The broken rule in printable ASCII, at most 200 characters, whatever the record put into the message."""
    match error:
        case BrokenRule() | msgspec.MsgspecError():
            words = str(error)
        case json.JSONDecodeError():
            words = f"the value is not JSON: {error.msg} (character {error.pos})"
        case UnicodeDecodeError():
            words = "the value is not UTF-8"
        case _:
            words = f"the value cannot be decoded: {type(error).__name__}: {error}"
    return re.sub(r"[^ -~]", "?", words[:200])


def _all_utf8(values: pa.Array) -> bool:
    """Whether every value is UTF-8, at the price of one pass in C; the decoder does not look at what it skips."""
    try:
        values.cast(pa.string())
    except pa.ArrowException:
        return False
    return True


def _check_names(events: list[Event], reasons: list[str | None]) -> Mapping[str, pa.Array]:
    """The columns of the fields in TEXTS, once events whose ids break their pattern are refused: all of a batch are
    looked at at once in C, the culprits again one by one."""
    try:
        columns = _texts(events)
        if all(pc.all(pc.match_substring_regex(columns[name], fit)).as_py() for name, fit in TEXTS.items()):
            return columns
    except UnicodeError:  # half a surrogate pair, which Arrow cannot hold
        pass
    for index, event in enumerate(events):
        reason = _broken_name(event)
        if reason and reasons[index] is None:
            events[index], reasons[index] = NOTHING, reason
    return _texts(events)


def _texts(events: list[Event]) -> Mapping[str, pa.Array]:
    return {name: pa.array([getattr(event, name) for event in events], pa.string()) for name in TEXTS}


def _broken_name(event: Event) -> str | None:
    if not _is_uuid(event.event_id):
        return "event_id is not a UUID"
    return next((f"{n} breaks the rule for ids" for n in NAMES if not _is_id(getattr(event, n))), None)


def _arrow(
    batch: pa.RecordBatch, fields: Iterable[pa.Array], reasons: list[str | None], keep_bytes: bool
) -> pa.RecordBatch:
    refused = pa.array([reason is not None for reason in reasons], pa.bool_())
    columns = [
        *(batch.column(name) for name in ("partition", "offset", "append_ms", "stamped")),
        *(pc.if_else(refused, None, column) for column in fields),
        pa.array(reasons, pa.string()),
        *(_kept(batch) if keep_bytes else ()),
    ]
    schema = KEPT if keep_bytes else schemas.EVENT
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def _kept(batch: pa.RecordBatch) -> tuple[pa.Array, ...]:
    key, value = (pc.binary_slice(batch.column(n), 0, most) for n, most in (("key", KEPT_KEY), ("value", KEPT_VALUE)))
    return key, value, batch.column("value_bytes")


def _fields(events: list[Event], texts: Mapping[str, pa.Array]) -> Iterator[pa.Array]:
    """The columns of EVENT from event_id to cost_micros; `texts` has those that are strings."""
    yield _uuid_bytes([e.event_id for e in events])
    yield pa.array([e.event_type == "click" for e in events], pa.bool_())
    for name in NAMES:
        yield texts[name]
    yield pa.array([e.event_time for e in events], pa.int64())
    yield pa.array([e.cost_micros for e in events], pa.int64())


def _uuid_bytes(ids: list[str]) -> pa.Array:
    """UUIDs to their 16 bytes, by one call for all of them."""
    data = bytes.fromhex("".join(ids).replace("-", ""))
    return pa.Array.from_buffers(pa.binary(16), len(ids), [None, pa.py_buffer(data)]).cast(pa.binary())
