"""Files as traffic: mapping, bad rows, and what is refused before anything is sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from traffic import files
from traffic.files import UnreadableSource
from traffic.mapping import BadMapping, parse
from traffic.records import Kind, Record

GOOD: dict[str, object] = {
    "event_id": "0b1d6a1a-0000-4000-8000-000000000001",
    "event_type": "click",
    "slot_id": "s1",
    "client_id": "c1",
    "ad_id": "a1",
    "user_id": "u1",
    "event_time": 1_700_000_000_000,
    "cost_micros": 5,
}


def _read(
    file: Path, maps: list[str] | None = None, sets: list[str] | None = None, as_is: bool = False
) -> tuple[list[Record], list[tuple[int, str]]]:
    bad: list[tuple[int, str]] = []
    columns = parse(maps or [], sets or [])
    return list(files.records(file, columns, as_is, lambda line, why: bad.append((line, why)))), bad


def _file(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_an_ndjson_line_becomes_its_event(tmp_path: Path) -> None:
    records, bad = _read(_file(tmp_path, "log.ndjson", json.dumps(GOOD) + "\n"))
    assert not bad
    assert (records[0].key, records[0].kind) == (b"u1", Kind.CLICK)
    assert json.loads(records[0].value or b"") == GOOD


def test_columns_are_mapped_and_constants_set(tmp_path: Path) -> None:
    text = "id,kind,who,at\n0b1d6a1a-0000-4000-8000-000000000001,impression,u9,2023-11-14T22:13:20.123+00:00\n"
    maps = ["event_id=id", "event_type=kind", "user_id=who", "event_time=at"]
    sets = ["slot_id=s", "client_id=c", "ad_id=a", "cost_micros=7"]
    records, bad = _read(_file(tmp_path, "log.csv", text), maps, sets)
    event = json.loads(records[0].value or b"")
    assert not bad
    assert (event["user_id"], event["event_time"], event["cost_micros"]) == ("u9", 1_700_000_000_123, 7)


@pytest.mark.parametrize(
    ("maps", "sets", "message"),
    [
        (["nonsense"], [], "must read FIELD=COLUMN"),
        (["when=at"], [], "no field 'when'"),
        ([], ["cost_micros=1.5"], "not a whole number"),
        (["ad_id=x"], ["ad_id=y"], "not both"),
        (["ad_id=missing"], [], "no column 'missing'"),
    ],
)
def test_a_bad_mapping_is_refused_before_the_first_record(
    tmp_path: Path, maps: list[str], sets: list[str], message: str
) -> None:
    file = _file(tmp_path, "log.csv", ",".join(GOOD) + "\n" + ",".join(map(str, GOOD.values())) + "\n")
    with pytest.raises(BadMapping, match=message):
        files.records(file, parse(maps, sets), False, lambda line, why: None)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("event_id", "7", "not a UUID"),
        ("event_type", "view", "neither impression nor click"),
        ("ad_id", "a b", "not 1 to 64"),
        ("event_time", -1, "not a whole number"),
        ("event_time", "2023-11-14T22:13:20", "offset"),
        ("event_time", "yesterday", "neither epoch"),
        ("cost_micros", 1.5, "not a whole number"),
        ("cost_micros", True, "not a whole number"),
        ("cost_micros", 10**12 + 1, "not a whole number"),
        ("user_id", None, "the row has no 'user_id'"),
    ],
)
def test_a_bad_row_is_reported_with_its_line_and_skipped(
    tmp_path: Path, field: str, value: object, reason: str
) -> None:
    lines = [json.dumps(GOOD), json.dumps({**GOOD, field: value}), "{oops", "[]", json.dumps(GOOD)]
    records, bad = _read(_file(tmp_path, "log.jsonl", "\n".join(lines)))
    assert len(records) == 2
    assert [line for line, _ in bad] == [2, 3, 4]
    assert reason in bad[0][1]


def test_as_is_sends_every_line_byte_for_byte(tmp_path: Path) -> None:
    lines = ["{oops", json.dumps({"user_id": "u5", "x": 1.5})]
    records, bad = _read(_file(tmp_path, "log.ndjson", "\n".join(lines)), as_is=True)
    assert not bad
    assert [(record.key, record.value) for record in records] == [
        (None, b"{oops"),
        (b"u5", lines[1].encode()),
    ]


@pytest.mark.parametrize(("name", "problem"), [("log.parquet", "no known suffix"), ("absent.csv", "is not there")])
def test_an_unreadable_source_is_refused(tmp_path: Path, name: str, problem: str) -> None:
    if "absent" not in name:
        _file(tmp_path, name, "")
    with pytest.raises(UnreadableSource, match=problem):
        _read(tmp_path / name)
