"""The table of engines: rates from what a reader saw, and ratios to Flink where both sides are there."""

from __future__ import annotations

from bench.peers.figures import COLUMNS, REFERENCE, CatchUp, Live, Measured, ratio, table

CURVE = [(0.0, 0), (2.0, 0), (3.0, 400), (5.0, 600), (7.0, 800)]
"""All 800 of 1,000 records that count are there after 7 s; half of them after 3 s."""


def caught(records: int = 1_000, reading: float | None = 1.0, cpu: float = 4.0) -> CatchUp:
    """A catch-up along the curve."""
    return CatchUp(records, reading, CURVE, cpu)


def cells(measured: list[Measured], engine: str) -> dict[str, object]:
    """The row of one engine by column."""
    (row,) = (row for row in table(measured) if row[0] == engine)
    return dict(zip(COLUMNS, row, strict=True))


def test_cold_is_all_records_from_the_first_one_taken() -> None:
    assert caught().cold == 1_000 / (7 - 1)


def test_without_a_word_from_the_engine_cold_counts_from_its_start() -> None:
    assert caught(reading=None).cold == 1_000 / 7


def test_warm_is_the_later_half_scaled_from_events_that_count_to_records() -> None:
    assert caught().warm == 500 / (7 - 3)


def test_warm_is_unknown_where_one_look_showed_everything() -> None:
    assert CatchUp(10, None, [(0.0, 0), (1.0, 8)], 1.0).warm is None


def test_the_first_result_is_the_first_look_that_showed_any() -> None:
    assert caught().first_result == 3.0
    assert CatchUp(10, None, [(0.0, 0)], 1.0).first_result is None


def test_records_per_second_of_cpu() -> None:
    assert caught().per_cpu_second == 250
    assert caught(cpu=0.0).per_cpu_second is None


def test_ratios_are_over_the_reference() -> None:
    reference = Measured(REFERENCE, caught(), Live([100.0, 200.0], 0, 0.5, 1.0))
    other = Measured("other", caught(records=2_000), Live([50.0, 500.0], 0, 0.5, 1.0))
    row = cells([other, reference], "other")
    assert [row[name] for name in ("x warm", "x CPU", "x p50", "x p99")] == ["2.00", "2.00", "0.50", "2.50"]
    assert cells([other, reference], REFERENCE)["x warm"] == "1.00"


def test_another_view_of_an_engine_has_a_row_with_its_latencies_alone() -> None:
    reference = Measured(REFERENCE, caught(), Live([100.0], 0, 0.5, 1.0))
    ours = Measured("ours", caught(), Live([300.0], 0, 0.5, 1.0, also={"its other view": [150.0]}), differences=0)
    row = cells([reference, ours], "its other view")
    given = {name: value for name, value in row.items() if value is not None}
    ms = dict.fromkeys(("p50, ms", "p90, ms", "p99, ms"), 150.0)
    assert given == {"engine": "its other view", **ms, "x p50": "1.50", "x p99": "1.50"}
    assert cells([reference, ours], "ours")["x p50"] == "3.00"


def test_without_the_reference_there_are_no_ratios() -> None:
    row = cells([Measured("other", caught())], "other")
    assert [row[name] for name in COLUMNS[-4:]] == [None] * 4
    assert ratio(1.0, 0.0) is None


def test_what_was_not_measured_is_blank_and_no_wrong_row_is_a_zero() -> None:
    row = cells([Measured("other", caught(), differences=0)], "other")
    assert (row["p50, ms"], row["cores"], row["kill -9, s"], row["wrong rows"]) == (None, None, None, 0)
