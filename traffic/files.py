"""A file of NDJSON or CSV as traffic, row by row."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from kappa.core.refusals import Refusal
from traffic.mapping import BadRow, Columns, event_of, fields_of, require_columns
from traffic.records import Kind, Record, encode

SUFFIXES = (".csv", ".ndjson", ".jsonl", ".json")
OnBad = Callable[[int, str], None]
"""Called with the line (from 1) and the reason of each row that is skipped."""


class UnreadableSource(Refusal):
    """The source is neither known by name nor a readable file of a known kind."""

    def __init__(self, source: str, problem: str) -> None:
        known = ", ".join(SUFFIXES)
        super().__init__(
            f"source '{source}' {problem}. Give open-bandit, synthetic, or a file ending in {known}. Nothing was sent."
        )


def records(file: Path, columns: Columns, as_is: bool, on_bad: OnBad) -> Iterator[Record]:
    """The file's rows as records; event times and costs are the file's own.

    A row that makes no event is reported to `on_bad` and skipped. With `as_is` nothing is checked: an
    NDJSON line is sent byte for byte with its user_id as key, a CSV row with its fields as they stand.
    Raises UnreadableSource, BadMapping, both before the first record.
    """
    if file.suffix not in SUFFIXES:
        raise UnreadableSource(str(file), "has no known suffix")
    if not file.is_file():
        raise UnreadableSource(str(file), "is not there")
    if file.suffix != ".csv":
        return _of_lines(file, columns, as_is, on_bad)
    with file.open(newline="", encoding="utf-8") as lines:
        require_columns(columns, next(csv.reader(lines), []))
    return _of_csv(file, columns, as_is, on_bad)


def _of_csv(file: Path, columns: Columns, as_is: bool, on_bad: OnBad) -> Iterator[Record]:
    with file.open(newline="", encoding="utf-8") as lines:
        reader = csv.DictReader(lines)
        for row in reader:
            yield from _made(columns, as_is, on_bad, reader.line_num, row)


def _of_lines(file: Path, columns: Columns, as_is: bool, on_bad: OnBad) -> Iterator[Record]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            text = line.rstrip(b"\r\n")
            if as_is:
                yield Record(_key(text), text, 0.0, Kind.AS_IS)
            elif text:
                yield from _parsed(columns, on_bad, number, text)


def _parsed(columns: Columns, on_bad: OnBad, number: int, text: bytes) -> Iterator[Record]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        on_bad(number, f"not JSON: {error}")
        return
    if isinstance(row, dict):
        yield from _made(columns, False, on_bad, number, row)
    else:
        on_bad(number, "not a JSON object")


def _made(columns: Columns, as_is: bool, on_bad: OnBad, line: int, row: Mapping[str, object]) -> Iterator[Record]:
    try:
        if as_is:
            yield _unchecked(fields_of(columns, row))
        else:
            event = event_of(columns, row)
            yield Record(event.user_id.encode(), encode(event), 0.0, Kind(event.event_type))
    except BadRow as problem:
        on_bad(line, str(problem))


def _unchecked(fields: Mapping[str, object]) -> Record:
    """The fields as they stand; what looks like a whole number is sent as one where the contract wants a
    number."""
    value = {name: _number(text) if name in ("event_time", "cost_micros") else text for name, text in fields.items()}
    return Record(str(fields["user_id"]).encode(), json.dumps(value).encode(), 0.0, Kind.AS_IS)


def _number(text: object) -> object:
    return int(text) if isinstance(text, str) and text.isdecimal() else text


def _key(text: bytes) -> bytes | None:
    """The user_id of a line that has one; no key for others."""
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return None
    user = row.get("user_id") if isinstance(row, dict) else None
    return user.encode("utf-8", "surrogatepass") if isinstance(user, str) else None
