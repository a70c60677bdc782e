"""What the program accepts as its input."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kappa.core.validation import BadRequest, read
from tests.great_expectations.gate.desk import NOON

JOB = {
    "job": "ad_ctr", "table": "ad_ctr_minute", "keys": ["client_id", "ad_id"], "measures": ["clicks"],
    "window": "PT60S", "candidate": 2, "live": 1, "candidate_starts": None, "live_starts": NOON.isoformat(),
    "candidate_through": (NOON + timedelta(milliseconds=1)).isoformat(), "live_through": NOON.isoformat(),
}  # fmt: skip
ASKED = {
    "replay_id": "r", "run_id": "r", "asked_by": "a", "reason": None, "database": "d", "parity": "declared",
    "bands": [{"column": "clicks", "direction": "up", "most_permille": 300}], "subjects": [JOB],
}  # fmt: skip


def test_the_later_start_and_the_earlier_end_bound_the_comparison() -> None:
    (subject,) = read(ASKED).subjects
    assert (subject.since, subject.until, subject.window) == (NOON, NOON, timedelta(minutes=1))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"subjects": []}, "names no candidate"),
        ({"subjects": [JOB, JOB]}, "names a job twice"),
        ({"subjects": [{**JOB, "table": "x; drop table y"}]}, r"matching regex .* - at `\$.subjects\[0\].table`"),
        (
            {"subjects": [{**JOB, "measures": ["clicks", "a{batch}"]}]},
            r"matching regex .* - at `\$.subjects\[0\].measures\[1\]`",
        ),
        ({"subjects": [{**JOB, "live": "1 or true"}]}, r"Expected `int`, got `str` - at `\$.subjects\[0\].live`"),
        ({"bands": [{"column": "spend", "direction": "up", "most_permille": 1}]}, "'spend' is no measure"),
        (
            {"bands": [{"column": "clicks", "direction": "up", "most_permille": -1}]},
            r"Expected `int` >= 0 - at `\$.bands",
        ),
        ({"bands": [{"column": "clicks", "direction": "sideways", "most_permille": 1}]}, "sideways"),
        ({"parity": "roughly"}, "roughly"),
        (
            {"bands": [{"column": "clicks", "direction": d, "most_permille": 1} for d in ("up", "down")]},
            "two bands for one measure",
        ),
    ],
)
def test_an_input_that_is_wrong_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(BadRequest, match=says):
        read({**ASKED, **change})


def test_an_input_without_a_member_is_refused() -> None:
    with pytest.raises(BadRequest, match="parity"):
        read({name: value for name, value in ASKED.items() if name != "parity"})
