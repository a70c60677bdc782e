"""The job's decoder and the oracle's agree on every record: on the event, or on there being none."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded

from jobs.transforms.decode import decode_batch
from oracle import decode
from tests.oracle.mutated_records import Record, records
from tests.oracle.rfc8259 import is_json

SCHEMA = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("append_ms", pa.int64()),
        ("stamped", pa.bool_()),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
BATCH = 10_000


def _by_job(given: Sequence[Record]) -> list[decode.Event | None]:
    """The events of one Arrow batch in the oracle's terms; None: a dead letter, which has a fit reason."""
    rows = [
        {"partition": 0, "offset": n, "append_ms": 0, "stamped": r.stamped, "key": r.key, "value": r.value}
        for n, r in enumerate(given)
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    found: list[decode.Event | None] = []
    for row in decode_batch(batch).to_pylist():
        reason = row["reason"]
        assert reason is None or (reason.isascii() and reason.isprintable() and 0 < len(reason) <= 200), reason
        found.append(_event(row) if reason is None else None)
    return found


def _event(row: dict[str, object]) -> decode.Event:
    digits = row["event_id"]
    assert isinstance(digits, bytes)
    h = digits.hex()
    names = [row[n] for n in ("is_click", "slot_id", "client_id", "ad_id", "user_id", "event_ms", "cost_micros")]
    return decode.Event(f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}", *names)  # type: ignore[arg-type]


def _by_oracle(record: Record) -> decode.Event | str:
    return decode.decode(decode.LogRecord(0, 0, 0, record.stamped, record.key, record.value))


def _disagreements(given: Sequence[Record]) -> list[tuple[Record, decode.Event | None, decode.Event | str]]:
    """The records of a batch on which they disagree, with what the job and what the oracle read."""
    found = zip(given, _by_job(given), map(_by_oracle, given), strict=True)
    return [(r, job, truth) for r, job, truth in found if job != (truth if isinstance(truth, decode.Event) else None)]


def _is_misread(record: Record) -> bool:
    """Whether the oracle takes for JSON what is none by the grammar, or the other way about: both decoders may use the
    same parser where the fast one refuses."""
    verdict = _by_oracle(record)
    if record.value is None or verdict in ("no value", "too large", "not UTF-8", "not stamped by the broker"):
        return False
    return is_json(record.value.decode(), decode.MOST_LEVELS) == (verdict in ("not JSON", "nested too deeply"))


def _compare(examples: int) -> None:
    """So many records, each alone; then all of them again in batches as large as Spark's."""
    seed, begun = random.getrandbits(32), time.monotonic()
    seen: list[Record] = []

    @seeded(seed)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(records())
    def agree(record: Record) -> None:
        seen.append(record)
        assert _disagreements([record]) == []
        assert not _is_misread(record)

    agree()
    batches = [seen[start : start + BATCH] for start in range(0, len(seen), BATCH)]
    disagreements = [found for batch in batches for found in _disagreements(batch)]
    different = set(seen)
    events = sum(isinstance(_by_oracle(record), decode.Event) for record in different)
    print(
        f"\ntwo decoders: {len(seen)} examples ({len(different)} different records, {events} of them events), "
        f"{len(disagreements)} disagreements, {time.monotonic() - begun:.0f} s, seed {seed}"
    )
    assert disagreements == []
    assert len(seen) >= examples
    assert events > 0.1 * len(different), "mutations that leave no event compare nothing"


def test_two_decoders_agree_on_whatever_becomes_of_an_event() -> None:
    _compare(2_000)


@pytest.mark.long(minutes=15)
def test_two_decoders_agree_on_100_000_records() -> None:
    _compare(100_000)
