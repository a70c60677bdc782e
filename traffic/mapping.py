"""How columns of somebody's file become the fields of an event, and what is wrong with a row that cannot."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from kappa.core.refusals import Refusal
from traffic.records import Event

FIELDS = Event._fields
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_MOST_COST = 10**12
_MOST_TIME = 253_402_300_799_999
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class BadMapping(Refusal):
    """--map or --set cannot be understood, or names what does not exist."""

    def __init__(self, given: str, problem: str) -> None:
        super().__init__(f"{given}: {problem}. Fields are {', '.join(FIELDS)}. Nothing was sent.")


class BadRow(Exception):  # noqa: N818 - a value of the file, reported with its line by who reads it
    """A row that makes no event; the message says the field and what it holds."""


@dataclass(frozen=True)
class Columns:
    """Which column fills which field (by default the one of its name), and which fields are constant."""

    columns: Mapping[str, str]
    constants: Mapping[str, str]

    def column(self, field: str) -> str | None:
        """The column that fills a field; None for a constant."""
        return None if field in self.constants else self.columns.get(field, field)


def parse(maps: Iterable[str], sets: Iterable[str]) -> Columns:
    """`field=column` and `field=value` pairs as a mapping. Raises BadMapping."""
    mapping = Columns(_pairs("--map", maps), _pairs("--set", sets))
    for field in mapping.columns.keys() & mapping.constants.keys():
        raise BadMapping(f"--map {field} and --set {field}", "a field has a column or a constant, not both")
    for field, value in mapping.constants.items():
        try:
            _VALUES[field](field, value)
        except BadRow as problem:
            raise BadMapping(f"--set {field}={value}", str(problem)) from problem
    return mapping


def require_columns(mapping: Columns, present: Iterable[str]) -> None:
    """Raises BadMapping for the first field whose column the file does not have."""
    known = list(present)
    for field in FIELDS:
        column = mapping.column(field)
        if column is not None and column not in known:
            has = f"the file has no column '{column}' (it has {', '.join(known)})"
            raise BadMapping(field, f"{has}; give --map {field}=COLUMN or --set {field}=VALUE")


def event_of(mapping: Columns, row: Mapping[str, object]) -> Event:
    """The row as an event that holds the contract, section 1. Raises BadRow."""
    return Event._make(_VALUES[field](field, value) for field, value in fields_of(mapping, row).items())


def fields_of(mapping: Columns, row: Mapping[str, object]) -> dict[str, object]:
    """The row's raw value for each field. Raises BadRow for a missing one."""
    found: dict[str, object] = {}
    for field in FIELDS:
        column = mapping.column(field)
        if column is not None and row.get(column) is None:
            raise BadRow(f"{field}: the row has no '{column}'")
        found[field] = mapping.constants[field] if column is None else row[column]
    return found


def _pairs(option: str, given: Iterable[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in given:
        field, equals, value = text.partition("=")
        if not equals or not value:
            raise BadMapping(f"{option} {text}", "it must read FIELD=" + ("COLUMN" if option == "--map" else "VALUE"))
        if field not in FIELDS:
            raise BadMapping(f"{option} {text}", f"there is no field '{field}'")
        pairs[field] = value
    return pairs


def _id(field: str, value: object) -> str:
    text = str(value)
    if isinstance(value, bool) or not _ID.fullmatch(text):
        raise BadRow(f"{field}: {value!r} is not 1 to 64 of A-Z a-z 0-9 _ . : -")
    return text


def _uuid(field: str, value: object) -> str:
    if not isinstance(value, str) or not _UUID.fullmatch(value):
        raise BadRow(f"{field}: {value!r} is not a UUID")
    return value


def _type(field: str, value: object) -> str:
    if value not in ("impression", "click"):
        raise BadRow(f"{field}: {value!r} is neither impression nor click")
    return str(value)


def _time(field: str, value: object) -> int:
    """Epoch milliseconds, or a time of ISO 8601 with its offset from UTC."""
    if isinstance(value, str) and not value.lstrip("-").isdecimal():
        try:
            at = datetime.fromisoformat(value)
        except ValueError as error:
            raise BadRow(f"{field}: {value!r} is neither epoch milliseconds nor an ISO 8601 time") from error
        if at.tzinfo is None:
            raise BadRow(f"{field}: {value!r} does not say its offset from UTC")
        value = (at - _EPOCH) // timedelta(milliseconds=1)
    return _integer(field, value, _MOST_TIME)


def _cost(field: str, value: object) -> int:
    return _integer(field, value, _MOST_COST)


def _integer(field: str, value: object, most: int) -> int:
    try:
        number = int(value) if isinstance(value, int | str) and not isinstance(value, bool) else -1
    except ValueError:
        number = -1
    if not 0 <= number <= most:
        raise BadRow(f"{field}: {value!r} is not a whole number from 0 to {most}")
    return number


_VALUES: Mapping[str, Callable[[str, object], str | int]] = {
    "event_id": _uuid,
    "event_type": _type,
    "slot_id": _id,
    "client_id": _id,
    "ad_id": _id,
    "user_id": _id,
    "event_time": _time,
    "cost_micros": _cost,
}
