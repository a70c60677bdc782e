"""The fate of a record: the contract's table line by line, at its bounds, as Arrow columns decide it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from jobs.transforms import fates
from jobs.transforms.tally import of_texts
from kappa.core.fates import Fate
from tests.jobs.records import MINUTE, NOON, record

BOUNDS = {"future_bound_ms": 300, "allowed_lateness_ms": 7_000}
APPENDED = 1_000_000
START = APPENDED - 5_000
NOON_LATE = NOON + MINUTE


def fate_of(event_ms: int | None, reason: str | None = None, starts_at_ms: int | None = None) -> str | None:
    batch = pa.record_batch({
        "event_ms": pa.array([event_ms], pa.int64()),
        "append_ms": pa.array([APPENDED], pa.int64()),
        "reason": pa.array([reason], pa.string()),
    })  # fmt: skip
    found: list[str | None] = fates.rule(BOUNDS, starts_at_ms)(batch).to_pylist()
    return found[0]


@pytest.mark.parametrize(
    ("event_ms", "start", "fate"),
    [
        (APPENDED, None, None),
        (APPENDED + 300, None, None),
        (APPENDED + 301, None, Fate.FUTURE),
        (APPENDED - 7_000, None, None),
        (APPENDED - 7_001, None, Fate.LATE),
        (START, START, None),
        (START - 1, START, Fate.BEFORE_START),
        (APPENDED - 7_001, START, Fate.BEFORE_START),
        (0, None, Fate.LATE),
    ],
)
def test_a_bound_itself_is_allowed_and_the_first_line_that_refuses_decides(
    event_ms: int, start: int | None, fate: Fate | None
) -> None:
    assert fate_of(event_ms, starts_at_ms=start) == fate


def test_what_breaks_a_rule_of_decoding_is_a_dead_letter_whatever_its_time() -> None:
    assert fate_of(None, "the value is missing") == Fate.DEAD_LETTER
    assert fate_of(None, "the value is missing", START) == Fate.DEAD_LETTER


def batch_of(*records: tuple[object, ...]) -> pa.RecordBatch:
    """Records as `decode.cut` hands them over."""
    names = ("partition", "offset", "append_ms", "stamped", "key", "value")
    kinds = (pa.int32(), pa.int64(), pa.int64(), pa.bool_(), pa.binary(), pa.binary())
    columns = [pa.array([row[at] for row in records], kind) for at, kind in enumerate(kinds)]
    sizes = pa.array([len(str(row[-1])) for row in records], pa.int64())
    return pa.RecordBatch.from_arrays([*columns, sizes], names=[*names, "value_bytes"])


def test_a_batch_has_its_tally_beside_its_first_row_and_nothing_beside_the_others() -> None:
    records = [record(7), record(8, append_ms=NOON_LATE), record(9, event_type="click"), record(10, cost_micros=-1)]
    judged = fates.judge_batch(batch_of(*records), fates.rule(BOUNDS, None))
    assert judged.column("fate").to_pylist() == [None, Fate.LATE, None, Fate.DEAD_LETTER]
    first, *others = judged.column("tally").to_pylist()
    assert others == [None, None, None]
    seen = of_texts([first])
    assert (seen.read, seen.accepted, seen.last_offsets) == (4, 2, {0: 10})
    assert {fate: tally.records for fate, tally in seen.refused.items() if tally.records} == {
        Fate.DEAD_LETTER: 1,
        Fate.LATE: 1,
    }


def test_a_batch_without_records_is_one_without_rows() -> None:
    assert fates.judge_batch(batch_of(record(7)).slice(0, 0), fates.rule(BOUNDS, None)).num_rows == 0
