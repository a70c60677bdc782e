"""Hypothesis strategies for records of the log: a good event with anything done to its members, text, bytes and key."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from hypothesis import strategies as st


class Record(NamedTuple):
    """What both decoders are given."""

    key: bytes | None
    value: bytes | None
    stamped: bool = True


GOOD: dict[str, str] = {
    "event_id": '"0F8FAD5B-d9cb-469f-a165-70867728950e"',
    "event_type": '"click"',
    "slot_id": '"top-1"',
    "client_id": '"c.1"',
    "ad_id": '"a:1"',
    "user_id": '"u_1"',
    "event_time": "1795262400000",
    "cost_micros": "5",
}
"""Field to the JSON text of its value."""
Members = list[tuple[str, str]]
"""JSON text of name and value, in order; a name may come again."""


def _words(text: str) -> list[str]:
    return text.split()


_NUMBERS = st.sampled_from(
    _words(
        "0 -0 00 -00 01 -01 1 -1 5 1.0 1.5 -0.0 0e0 1e3 1E+3 1e-3 1. .5 1e 1e+ - + +1 0x1 1_0 1e400 -1e400 1e999999 "
        "1e-999999 253402300799999 253402300800000 1000000000000 1000000000001 9007199254740993 9223372036854775807 "
        "9223372036854775808 -9223372036854775808 -9223372036854775809 18446744073709551615 18446744073709551616 "
        "1000000000000.0 1795262400000.0 1.7952624e12 5e0 50e-1 NaN Infinity -Infinity nan inf \u0661 1\u0661"
    )
)
_LONG_NUMBERS = st.builds(
    lambda sign, digit, length, rest: sign + digit * length + rest,
    st.sampled_from(["", "-"]),
    st.sampled_from("0179"),
    st.sampled_from([15, 16, 18, 19, 20, 21, 30, 31, 309, 310, 4299, 4300, 4301, 20_000]),
    st.sampled_from(["", "", "", ".0", ".5", "e5", "e-5", "e99999", "." + "3" * 5_000]),
)
_ESCAPES = _words(
    r"\u0000 \u001f \u0041 \u005f \ud800 \udbff \udc00 \udfff \ud83d\ude00 \ude00\ud83d \ud83d\ud83d \uD83d \ud83dx "
    r"\ud83d\n \ud83d\u0041 \u12 \u12g4 \U0041 \" \\ \/ \b \f \n \r \t \x41 \' \0 \ "
)
_ODD = ["\x00", "\x01", "\x1f", "\x7f", "\x80", "\u00a0", "\u2028", "\ufeff", "\U0001f600", "\t", "\n", '"', "'"]
_PIECES = st.one_of(
    st.sampled_from(_ESCAPES), st.sampled_from(_ODD), st.sampled_from(list("aZ0_.:- []{},")), st.text(max_size=2)
)
_TEXTS = st.one_of(
    st.lists(_PIECES, max_size=5).map(lambda pieces: '"' + "".join(pieces) + '"'),
    st.sampled_from([*GOOD.values(), '"impression"', '"view"', '""', '"' + "x" * 64 + '"', '"' + "x" * 65 + '"']),
    st.sampled_from(['"' + "[" * 70 + '"', '"' + '\\"[' * 70 + '"', '"\\\\"', '"' + "{" * 70 + "\\\\" + '"']),
)
_LITERALS = st.sampled_from(
    [*_words('true false null True nul truex undefined {} [] [,] {,} [1,] {1:2} {"a"} () // /**/'), ""]
)
_TREES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=True) | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
).map(json.dumps)
_LEVELS = st.one_of(st.integers(1, 4), st.integers(60, 67), st.sampled_from([63, 64, 900, 1100, 8_000, 60_000]))
_OPENINGS = st.lists(
    st.sampled_from([("[", "]"), ('{"a":', "}"), ('["]",', "]"), ('[[],{"}":{}},', "]")]), min_size=1, max_size=3
)


@st.composite
def _nested(draw: st.DrawFn) -> str:
    """Arrays and objects in one another, also beyond what is allowed, sometimes not closed as they were opened."""
    levels, kinds = draw(_LEVELS), draw(_OPENINGS)
    turns = [kinds[level % len(kinds)] for level in range(levels)]
    closed = levels if draw(st.integers(0, 9)) else draw(st.integers(0, levels))
    inner = draw(st.sampled_from(["0", "[]", "{}", '"x"', '"]"']))
    return "".join(t[0] for t in turns) + inner + "".join(t[1] for t in reversed(turns[-closed:]))


_STRANGE_YET_JSON = st.sampled_from(
    [
        *_words(r'-0 1e999999 -1e-999999 "\ud800" "\udc00\ud83d" "\u0000" {"\udfff":1} {"a":1,"a":{}} ""'),
        "[" * 62 + "]" * 62,
    ]
    + [digit * length for digit in "17" for length in (19, 4_300, 4_301)]
)
_VALUES = st.one_of(
    _STRANGE_YET_JSON,
    _STRANGE_YET_JSON,
    _STRANGE_YET_JSON,
    _NUMBERS,
    _LONG_NUMBERS,
    _TEXTS,
    _LITERALS,
    _TREES,
    _nested(),
)
"""JSON texts of any kind, and texts that only look like some."""
_NAMES = st.one_of(
    st.sampled_from([json.dumps(name) for name in GOOD]),
    st.sampled_from([r'"\u0061d_id"', r'"cost\u005fmicros"', r'"event\u005Ftime"', r'"user_id\u0000"', '"AD_ID"']),
    st.sampled_from(['"x"', '"y"', '"title"', '""', r'"\ud800"', r'"\udbffx"']),
    st.sampled_from([r'"\ud800"', r'"ad_id\udc00"', r'"\udc00ad_id"', '"x"', '""', "ad_id", "1", "null", "'x'"]),
    _TEXTS,
)
_PLACES = st.integers(0, 1_000)


def _insert(members: Members, place: int, name: str, value: str) -> None:
    members.insert(place % (len(members) + 1), (name, value))


def _replace(members: Members, place: int, _name: str, value: str) -> None:
    if members:
        members[place % len(members)] = (members[place % len(members)][0], value)


def _rename(members: Members, place: int, name: str, _value: str) -> None:
    if members:
        members[place % len(members)] = (name, members[place % len(members)][1])


def _wrong_copy_first(members: Members, place: int, _name: str, value: str) -> None:
    """A member with this value before the one that counts."""
    if members:
        members.insert(0, (members[place % len(members)][0], value))


def _drop(members: Members, place: int, _name: str, _value: str) -> None:
    if members:
        del members[place % len(members)]


_EDIT = st.sampled_from([_insert] * 6 + [_wrong_copy_first] * 5 + [_replace, _rename, _drop])
_SPACES = st.sampled_from([""] * 20 + [" ", "\t", "\n", "\r", " \r\n\t", "\x0b", "\x0c", "\u00a0", "\ufeff", "\x00"])
_ENDS = st.sampled_from([""] * 30 + [" ", "\n", "x", "{}", ",", "]", "}", "\x00", " \x00", "\ufeff", "//"])
_BYTES = st.one_of(
    st.binary(min_size=1, max_size=4),
    st.sampled_from([b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\xc3", b"\x00"]),
    st.sampled_from([b'"', b"\\", b"[", b"]", b"{", b"}", b",", b":", b"-", b"0", b"e", b".", b"\\u", b"\\ud800"]),
)


def _put(value: bytes, place: int, more: bytes) -> bytes:
    return value[:place] + more + value[place:]


def _overwrite(value: bytes, place: int, more: bytes) -> bytes:
    return value[:place] + more + value[place + len(more) :]


def _flip(value: bytes, place: int, more: bytes) -> bytes:
    return value[:place] + bytes([value[place] ^ (1 << more[0] % 8)]) + value[place + 1 :]


def _cut(value: bytes, place: int, _more: bytes) -> bytes:
    return value[:place]


def _cut_out(value: bytes, place: int, more: bytes) -> bytes:
    return value[:place] + value[place + len(more) :]


def _double(value: bytes, place: int, more: bytes) -> bytes:
    return value[:place] + value[max(0, place - 8 * len(more)) :]


_CHANGE: st.SearchStrategy[Callable[[bytes, int, bytes], bytes]] = st.sampled_from(
    [_put, _overwrite, _flip, _cut, _cut_out, _double]
)
_CHANGES = st.lists(st.tuples(_CHANGE, st.integers(0, 2**17), _BYTES), min_size=1, max_size=2)
_KEYS = st.sampled_from([b"u_1"] * 50 + [None, b"", b"u_2", b"u_1 ", b"U_1", b"\xff", b"u_1\x00"])
_SIZES = st.sampled_from([0] * 150 + [65_535, 65_536, 65_537])
_SELDOM = st.sampled_from([False] * 200 + [True])
_HARM = st.sampled_from(["members"] * 12 + ["bytes"] * 5 + ["both"] * 2 + ["neither"])


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Any record: many are events, most are nearly one."""
    members, harm = [(json.dumps(name), value) for name, value in GOOD.items()], draw(_HARM)
    if harm in ("members", "both"):
        for edit, place, name, value in draw(
            st.lists(st.tuples(_EDIT, _PLACES, _NAMES, _VALUES), min_size=1, max_size=3)
        ):
            edit(members, place, name, value)
    space = draw(_SPACES)
    text = f",{space}".join(f"{name}{space}:{value}" for name, value in members)
    value = (space + "{" + text + "}" + draw(_ENDS)).encode("utf-8", "surrogatepass")
    if harm in ("bytes", "both"):
        for change, place, more in draw(_CHANGES):
            value = change(value, place % len(value), more) if value else more
    value += b" " * max(0, draw(_SIZES) - len(value))
    return Record(draw(_KEYS), None if draw(_SELDOM) else value, not draw(_SELDOM))
