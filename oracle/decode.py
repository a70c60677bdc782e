"""The strict reading of one record by the contract, section 1: an event, or the reason why it is a dead
letter."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, NoReturn

MOST_BYTES = 65_536
MOST_LEVELS = 64
MOST_TIME = 253_402_300_799_999
MOST_COST = 10**12
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_NAMED = ("slot_id", "client_id", "ad_id", "user_id")
_MOST_DIGITS = 30


class LogRecord(NamedTuple):
    """One record as the log holds it. append_time in epoch ms; `stamped`: by the broker (LogAppendTime)."""

    partition: int
    offset: int
    append_time: int
    stamped: bool
    key: bytes | None
    value: bytes | None


class Event(NamedTuple):
    """What a good record says; event_id in lower case, times in ms, cost in micros."""

    event_id: str
    is_click: bool
    slot_id: str
    client_id: str
    ad_id: str
    user_id: str
    event_time: int
    cost_micros: int


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _integer(digits: str) -> int:
    """A JSON integer; one of absurd length, which Python would refuse to read, as some number beyond every
    bound."""
    return int(digits) if len(digits) <= _MOST_DIGITS else 10**_MOST_DIGITS


_JSON = json.JSONDecoder(parse_constant=_refuse, parse_int=_integer)


def decode(record: LogRecord) -> Event | str:
    """The record's event, or why it is a dead letter."""
    if not record.stamped:
        return "not stamped by the broker"
    members = _members(record.value)
    if isinstance(members, str):
        return members
    problem = _problem(members)
    if problem is not None:
        return problem
    if record.key != members["user_id"].encode():
        return "key is not user_id"
    return Event(
        members["event_id"].lower(),
        members["event_type"] == "click",
        members["slot_id"],
        members["client_id"],
        members["ad_id"],
        members["user_id"],
        members["event_time"],
        members["cost_micros"],
    )


def _members(value: bytes | None) -> dict[str, Any] | str:
    """The members of the one JSON object that the value is, or why it is none."""
    if value is None:
        return "no value"
    if len(value) > MOST_BYTES:
        return "too large"
    try:
        text = value.decode("utf-8")
        if _is_too_deep(text):
            return "nested too deeply"
        parsed = _JSON.decode(text)
    except UnicodeDecodeError:
        return "not UTF-8"
    except ValueError:
        return "not JSON"
    return parsed if isinstance(parsed, dict) else "not an object"


def _is_too_deep(text: str) -> bool:
    """Whether more than MOST_LEVELS objects and arrays stand in one another, the outermost included; in text that is
    not JSON, as far as it is read."""
    if text.count("[") + text.count("{") <= MOST_LEVELS:
        return False
    unescaped = text.replace("\\\\", "").replace('\\"', "")
    level = 0
    for sign in "".join(unescaped.split('"')[::2]):
        if sign in "[{":
            level += 1
        elif sign in "]}":
            level -= 1
        if level > MOST_LEVELS:
            return True
    return False


def _problem(members: dict[str, Any]) -> str | None:
    """The first rule that the members break."""
    event_id, kind = members.get("event_id"), members.get("event_type")
    if not isinstance(event_id, str) or not _UUID.fullmatch(event_id):
        return "event_id"
    if kind != "impression" and kind != "click":
        return "event_type"
    for name in _NAMED:
        text = members.get(name)
        if not isinstance(text, str) or not _NAME.fullmatch(text):
            return name
    if not _within(members.get("event_time"), MOST_TIME):
        return "event_time"
    return None if _within(members.get("cost_micros"), MOST_COST) else "cost_micros"


def _within(number: object, most: int) -> bool:
    """Whether it is an integer (bool is none, 1.0 and 1e3 are none) from 0 to `most`."""
    return type(number) is int and 0 <= number <= most
