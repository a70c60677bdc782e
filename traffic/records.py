"""A record on its way into the log, and how an event is written as the contract's JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What a record was made as; the log and the jobs never see it."""

    IMPRESSION = "impression"
    CLICK = "click"
    OUT_OF_ORDER = "out_of_order"
    RESEND = "resend"
    REPEATED_CLICK = "repeated_click"
    LATE = "late"
    FUTURE = "future"
    MALFORMED = "malformed"
    AS_IS = "as_is"


class Record(NamedTuple):
    """One record: key and value as bytes, `due` in seconds of play after the start, and its kind."""

    key: bytes | None
    value: bytes | None
    due: float
    kind: Kind


class Event(NamedTuple):
    """One event of the contract, section 1. event_time in epoch ms, cost in micros of the client's
    currency."""

    event_id: str
    event_type: str
    slot_id: str
    client_id: str
    ad_id: str
    user_id: str
    event_time: int
    cost_micros: int


def encode(event: Event) -> bytes:
    """The event as one JSON object; its strings must need no escape, which the contract's character set
    ensures."""
    return (
        f'{{"event_id":"{event[0]}","event_type":"{event[1]}","slot_id":"{event[2]}","client_id":"{event[3]}",'
        f'"ad_id":"{event[4]}","user_id":"{event[5]}","event_time":{event[6]},"cost_micros":{event[7]}}}'
    ).encode()
