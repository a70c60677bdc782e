"""The set that is a window's state is itself held against what was read."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.transforms import windows
from tests.faults.recoveries import refused
from tests.rigs.events import event
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig


def _alike(*_: Any) -> Column:
    """An element in which impressions of one cost cannot be told apart: a set takes them for one."""
    names = ("kind", "offset")
    numbers = [F.lit(0).cast("long").alias(name) for name in names]
    return F.struct(numbers[0], F.lit(b"").alias("id"), numbers[1], F.col("cost_micros").alias("cost"))


def test_a_set_that_takes_two_records_for_one_calls_neither_a_duplicate(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = rig.case()
    case.produce([event(number, cost_micros=5) for number in range(3)])
    monkeypatch.setattr(windows, "element", _alike)
    assert "double entry: the change of seen impressions should be Tally(records=3" in refused(case)
    assert case.rows() == []
