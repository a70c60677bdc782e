"""What counts within a window: the first of each identity, in append order, whatever the batches."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs import schemas
from jobs.pipelines import quarantine, windowed
from jobs.pipelines.pipeline import Run
from kappa.core.job_catalog import find, resolve
from kappa.core.measures import MEASURES
from tests.jobs.records import MINUTE, NOON, record, uuid

AD_CTR, CLIENT_SPEND = find("ad_ctr"), find("client_spend")
SETTINGS = resolve(AD_CTR, {})
RUN = Run(SETTINGS, None, (0, 1), watermark_delay_ms=7_560_000)


def _frame(spark: SparkSession, rows: list[tuple[Any, ...]]) -> DataFrame:
    return spark.createDataFrame(rows, schemas.RECORD)


def _measures(frame: DataFrame) -> list[tuple[int, ...]]:
    return [tuple(row[name] for name in MEASURES) for row in frame.collect()]


def _ad(spark: SparkSession, *rows: tuple[Any, ...], run: Run = RUN) -> list[tuple[int, ...]]:
    return _measures(windowed.build(_frame(spark, list(rows)), AD_CTR, run))


def test_a_resend_counts_once_and_is_seen_twice(spark: SparkSession) -> None:
    assert _ad(spark, record(1), record(2, event_id=uuid(1))) == [(1, 0, 5, 0, 2, 0, 10, 0)]


def test_the_case_of_an_event_id_does_not_matter(spark: SparkSession) -> None:
    name = "0f8fad5b-d9cb-469f-a165-70867728950e"
    assert _ad(spark, record(1, event_id=name), record(2, event_id=name.upper())) == [(1, 0, 5, 0, 2, 0, 10, 0)]


def test_of_impressions_that_differ_in_cost_the_first_in_append_order_counts(spark: SparkSession) -> None:
    dear, cheap = record(1, cost_micros=9), record(2, event_id=uuid(1), cost_micros=1)
    assert _ad(spark, dear, cheap) == _ad(spark, cheap, dear) == [(1, 0, 9, 0, 2, 0, 10, 0)]


def test_fates_look_at_the_records_before_in_their_partition_only(spark: SparkSession) -> None:
    assert _ad(spark, record(1), record(1, partition=1)) == [(2, 0, 10, 0, 2, 0, 10, 0)]


def test_of_the_clicks_of_an_interval_the_first_appended_counts(spark: SparkSession) -> None:
    later = record(7, event_type="click", event_time=NOON + 9_999, cost_micros=100)
    earlier = record(8, event_type="click", event_time=NOON, cost_micros=200)
    assert _ad(spark, earlier, later) == [(0, 1, 0, 100, 0, 2, 0, 300)]


def test_clicks_on_both_sides_of_an_intervals_edge_count_twice(spark: SparkSession) -> None:
    before = record(1, event_type="click", event_time=NOON + 9_999)
    after = record(2, event_type="click", event_time=NOON + 10_000)
    assert _ad(spark, before, after) == [(0, 2, 0, 10, 0, 2, 0, 10)]


def test_clicks_of_others_or_on_other_ads_are_no_repeats(spark: SparkSession) -> None:
    rows = [
        record(1, event_type="click"),
        record(2, event_type="click", user_id="v"),
        record(3, event_type="click", ad_id="b"),
    ]
    spend = _measures(windowed.build(_frame(spark, rows), CLIENT_SPEND, RUN))
    assert spend == [(0, 3, 0, 15, 0, 3, 0, 15)]


def test_an_ad_and_a_user_are_not_taken_for_another_pair(spark: SparkSession) -> None:
    """client_spend keeps both in one identity; 'ab' + 'c' must not be 'a' + 'bc'."""
    rows = [
        record(1, event_type="click", user_id="ab", ad_id="c"),
        record(2, event_type="click", user_id="a", ad_id="bc"),
    ]
    assert _measures(windowed.build(_frame(spark, rows), CLIENT_SPEND, RUN)) == [(0, 2, 0, 10, 0, 2, 0, 10)]


@pytest.mark.parametrize(
    ("age_ms", "counted"),
    [
        pytest.param(7_200_000, 1, marks=pytest.mark.red_without("lateness by append time", "assert 0 == 1")),
        pytest.param(7_200_001, 0, marks=pytest.mark.red_without("lateness", "assert 1 == 0")),
        (-300_000, 1),
        pytest.param(-300_001, 0, marks=pytest.mark.red_without("future bound", "assert 1 == 0")),
    ],
    ids=str,
)
def test_the_limits_of_late_and_future_are_inclusive(spark: SparkSession, age_ms: int, counted: int) -> None:
    assert len(_ad(spark, record(1, append_ms=NOON + age_ms))) == counted


def test_events_before_the_versions_start_are_left_out(spark: SparkSession) -> None:
    run = Run(SETTINGS, NOON, (0, 1), RUN.watermark_delay_ms)
    assert len(_ad(spark, record(1, event_time=NOON - 1), record(2), run=run)) == 1


def test_each_refused_record_is_kept_with_its_fate_reason_and_bytes(spark: SparkSession) -> None:
    rows = [
        record(1),
        record(2, append_ms=NOON + 8_000_000),
        record(3, append_ms=NOON - 400_000),
        (*record(4)[:5], b"\xff"),
    ]
    kept = {r["offset"]: r for r in quarantine.build(_frame(spark, rows), RUN).collect()}
    assert {offset: row["fate"] for offset, row in kept.items()} == {2: "late", 3: "future", 4: "dead_letter"}
    assert bytes(kept[4]["value"]) == b"\xff"
    assert all(row["reason"] for row in kept.values())
    assert kept[2]["value_bytes"] == len(rows[1][5])


def test_a_record_is_decoded_once(spark: SparkSession) -> None:
    """The observation keeps the filter on the fate from being pushed below the decoding, which would decode twice."""
    plan = windowed.build(_frame(spark, [record(1)]), AD_CTR, RUN)._jdf.queryExecution().executedPlan().toString()
    assert plan.count("MapInArrow") == 2, "one decodes, one folds"


def test_batches_do_not_change_what_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    """The same log, cut into batches at random, ends in the rows that one look at all of it gives."""
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    log = _log(random.Random(seed))
    whole = {row[:3]: row[3:] for row in map(tuple, windowed.build(_frame(spark, log), AD_CTR, RUN).collect())}
    streamed = _stream(spark, tmp_path, log, random.Random(seed))
    assert streamed == whole
    assert len(whole) == 10


def _log(rng: random.Random) -> list[tuple[Any, ...]]:
    """Two partitions of 200 records in offset order, with resends, repeated clicks and other costs among them."""
    rows = []
    for partition in (0, 1):
        for offset in range(200):
            kind = rng.choice(["impression", "click"])
            rows.append(
                record(
                    offset,
                    partition=partition,
                    event_type=kind,
                    event_id=uuid(rng.randrange(100)),
                    ad_id=rng.choice("ab"),
                    user_id=rng.choice("uvw") + str(partition),
                    event_time=NOON + rng.randrange(5) * MINUTE + rng.randrange(MINUTE),
                    cost_micros=rng.randrange(9),
                    append_ms=NOON + 6 * MINUTE,
                )
            )
    return rows


def _stream(spark: SparkSession, folder: Path, log: list[tuple[Any, ...]], rng: random.Random) -> dict[Any, Any]:
    """The rows that a stream over the log serves at its end, in batches cut at random, each partition in order."""
    by_partition = {p: [row for row in log if row[0] == p] for p in (0, 1)}
    source, served = folder / "in", {}
    for number in range(4):
        batch = [r for rows in by_partition.values() for r in _take(rows, rng, last=number == 3)]
        _frame(spark, batch).coalesce(1).write.mode("append").parquet(str(source))
    reader = spark.readStream.schema(schemas.RECORD).option("maxFilesPerTrigger", 1).parquet(str(source))

    def keep(frame: DataFrame, _: int) -> None:
        for row in map(tuple, frame.collect()):
            served[row[:3]] = row[3:]

    writer = (
        windowed.build(reader, AD_CTR, RUN)
        .writeStream.outputMode("update")
        .option("checkpointLocation", str(folder / "cp"))
    )
    writer.foreachBatch(keep).trigger(availableNow=True).start().awaitTermination()
    return served


def _take(rows: list[tuple[Any, ...]], rng: random.Random, last: bool) -> list[tuple[Any, ...]]:
    count = len(rows) if last else rng.randrange(len(rows) // 2 + 1)
    taken, rows[:] = rows[:count], rows[count:]
    return taken
