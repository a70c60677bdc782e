"""Records that break the contract, each in another way; all are dead letters."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Malformed(NamedTuple):
    """A way to break a good record: a name, and (key, value) -> (key, value)."""

    name: str
    broken: Callable[[bytes, bytes], tuple[bytes | None, bytes | None]]


def _replaced(name: str, old: bytes, new: bytes) -> Malformed:
    return Malformed(name, lambda key, value: (key, value.replace(old, new, 1)))


def _extended(name: str, more: bytes) -> Malformed:
    """The object with one more last member, which of repeated names is the one that counts."""
    return Malformed(name, lambda key, value: (key, value[:-1] + b"," + more + b"}"))


VARIANTS = (
    Malformed("not JSON", lambda key, value: (key, b"hello, world")),
    Malformed("cut short", lambda key, value: (key, value[: len(value) // 2])),
    Malformed("bad UTF-8", lambda key, value: (key, value.replace(b'"slot_id":"', b'"slot_id":"\xff\xfe', 1))),
    Malformed("null value", lambda key, value: (key, None)),
    Malformed("empty value", lambda key, value: (key, b"")),
    Malformed("null key", lambda key, value: (None, value)),
    Malformed("another key", lambda key, value: (b"not-" + key, value)),
    Malformed("array", lambda key, value: (key, b"[" + value + b"]")),
    Malformed("trailing garbage", lambda key, value: (key, value + b" x")),
    Malformed("two objects", lambda key, value: (key, value + value)),
    Malformed("deep nesting", lambda key, value: (key, value[:-1] + b',"x":' + b"[" * 30_000 + b"]" * 30_000 + b"}")),
    Malformed("too large", lambda key, value: (key, value[:-1] + b',"padding":"' + b"x" * 70_000 + b'"}')),
    Malformed("65 levels", lambda key, value: (key, value[:-1] + b',"x":' + b"[" * 64 + b"]" * 64 + b"}")),
    Malformed("half a surrogate, 4,301 digits", lambda key, _: (key, b'{"x":"\\ud800","y":' + b"1" * 4_301 + b"}")),
    Malformed("long key", lambda key, value: (key * 1_000, value)),
    _replaced("missing field", b'"slot_id"', b'"slot"'),
    _replaced("single quotes", b'"event_id"', b"'event_id'"),
    _extended("negative cost", b'"cost_micros":-1'),
    _extended("fraction", b'"cost_micros":1.5'),
    _extended("exponent", b'"cost_micros":1e3'),
    _extended("beyond 63 bits", b'"cost_micros":9223372036854775808'),
    _extended("4,301 digits", b'"cost_micros":' + b"1" * 4_301),
    _extended("exponent beyond doubles", b'"cost_micros":1e999999'),
    _extended("half a surrogate in a name, last copy wrong", b'"\\ud800":1,"cost_micros":"5"'),
    _extended("not a number", b'"cost_micros":NaN'),
    _extended("number as a string", b'"event_time":"1700000000000"'),
    _extended("boolean as an integer", b'"cost_micros":true'),
    _extended("null field", b'"ad_id":null'),
    _extended("NUL", b'"ad_id":"a\\u0000b"'),
    _extended("raw NUL", b'"ad_id":"a\x00b"'),
    _extended("lone surrogate", b'"ad_id":"a\\ud800"'),
    _extended("not a UUID", b'"event_id":"12345"'),
    _extended("unknown type", b'"event_type":"view"'),
    _extended("empty id", b'"client_id":""'),
    _extended("too long an id", b'"client_id":"' + b"c" * 65 + b'"'),
    _extended("id with a space", b'"client_id":"a b"'),
)
