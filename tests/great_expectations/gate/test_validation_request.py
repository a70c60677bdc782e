"""What the program accepts as its input."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kappa.core.validation import BadRequest, read
from tests.great_expectations.gate.desk import NOON

NOON_MS = int(NOON.timestamp() * 1000)
JOB = {
    "job": "ad_ctr", "table": "ad_ctr_minute", "keys": ["client_id", "ad_id"], "measures": ["clicks"],
    "window_ms": 60_000, "candidate": 2, "live": 1, "candidate_starts_ms": None, "live_starts_ms": NOON_MS,
    "candidate_through_ms": NOON_MS + 1, "live_through_ms": NOON_MS,
}  # fmt: skip
ASKED = {
    "replay_id": "r", "run_id": "r", "asked_by": "a", "reason": None, "database": "d", "parity": "declared",
    "bands": [{"column": "clicks", "direction": "up", "most_permille": 300}], "jobs": [JOB],
}  # fmt: skip


def test_the_later_start_and_the_earlier_end_bound_the_comparison() -> None:
    (subject,) = read(ASKED).subjects
    assert (subject.since, subject.until, subject.window) == (NOON, NOON, timedelta(minutes=1))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"jobs": []}, "names no candidate"),
        ({"jobs": [JOB, JOB]}, "names a job twice"),
        ({"jobs": [{**JOB, "table": "x; drop table y"}]}, "no name of a job, table or column"),
        ({"jobs": [{**JOB, "measures": ["clicks", "a{batch}"]}]}, "no name of a job, table or column"),
        ({"jobs": [{**JOB, "live": "1 or true"}]}, "invalid literal for int"),
        ({"bands": [{"column": "spend", "direction": "up", "most_permille": 1}]}, "'spend' is no measure"),
        ({"bands": [{"column": "clicks", "direction": "up", "most_permille": -1}]}, "must be 0 or more"),
        ({"bands": [{"column": "clicks", "direction": "sideways", "most_permille": 1}]}, "sideways"),
        ({"parity": "roughly"}, "roughly"),
    ],
)
def test_an_input_that_is_wrong_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(BadRequest, match=says):
        read({**ASKED, **change})


def test_an_input_without_a_member_is_refused() -> None:
    with pytest.raises(BadRequest, match="parity"):
        read({name: value for name, value in ASKED.items() if name != "parity"})
