"""The fate of a record as far as the record alone decides it (contract, section 2)."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kappa.core.fates import REFUSED, Fate

OBSERVATION = "log"
"""Name under which a batch's counts are observed."""


def with_fate(events: DataFrame, settings: Mapping[str, int], starts_at_ms: int | None) -> DataFrame:
    """EVENT rows and a column `fate`: the first refusing line of the contract's table, null for an accepted event."""
    age = F.col("append_ms") - F.col("event_ms")
    before_start = F.lit(False) if starts_at_ms is None else F.col("event_ms") < F.lit(starts_at_ms)
    fate = (
        F.when(F.col("reason").isNotNull(), Fate.DEAD_LETTER.value)
        .when(before_start, Fate.BEFORE_START.value)
        .when(-age > settings["future_bound_ms"], Fate.FUTURE.value)
        .when(age > settings["allowed_lateness_ms"], Fate.LATE.value)
    )
    return events.withColumn("fate", fate)


def observed(events: DataFrame, partitions: tuple[int, ...]) -> DataFrame:
    """The same rows; counts, sums and reach of the batch are observed on their way (names: `jobs.sinks.observations`).

    It stands between the fate and the filter on it, which also keeps the optimizer from decoding twice.
    """
    accepted = F.col("fate").isNull()
    metrics = [F.count(F.lit(1)).alias("read")]
    for fate in REFUSED:
        metrics += [_count(F.col("fate") == fate.value, fate), _micros(F.col("fate") == fate.value, fate)]
    for name, kind in (("impressions", ~F.col("is_click")), ("clicks", F.col("is_click"))):
        metrics += [_count(accepted & kind, name), _micros(accepted & kind, name)]
    metrics += [F.max(F.when(accepted, F.col("event_ms"))).alias("newest_event_ms")]
    metrics += [metric for p in partitions for metric in (_newest_append(p), _last_append(p))]
    return events.observe(OBSERVATION, *metrics)


def accepted(events: DataFrame) -> DataFrame:
    """The rows that no rule refused, without the columns that served to decide it."""
    return events.where(F.col("fate").isNull()).drop("fate", "reason", "append_ms", "stamped")


def _count(condition: Column, name: str) -> Column:
    return F.count_if(condition).alias(name)


def _micros(condition: Column, name: str) -> Column:
    return F.sum(F.when(condition, F.col("cost_micros"))).alias(f"{name}_micros")


def _newest_append(partition: int) -> Column:
    """Of the broker's stamps only: a producer's would move what counts as complete."""
    stamped = (F.col("partition") == partition) & F.col("stamped")
    return F.max(F.when(stamped, F.col("append_ms"))).alias(f"newest_append_ms_{partition}")


def _last_append(partition: int) -> Column:
    offset = F.when(F.col("partition") == partition, F.col("offset"))
    return F.max_by("append_ms", offset).alias(f"last_append_ms_{partition}")
