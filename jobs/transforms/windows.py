"""The one stateful operator: a window's state is the set of the events it was shown, folded to what it comes to.

A duplicate falls into the window and group of its first copy (contract, section 2), so the group's own aggregate can
tell it: no deduplication operator, no second shuffle, no second state store.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.transforms import fold
from kappa.core.job_catalog import Job

IDENTITY = ("client_id", "ad_id")
"""What an event's identity comprises beside its id or user; a group's keys need not repeat it."""


MARK = "kappa.window.delayMs"
"""What the Java class `kappa.Eviction` finds the windows of a plan by: the watermark's delay, in their metadata."""


def counted(events: DataFrame, job: Job, click_interval_ms: int, watermark_delay_ms: int) -> DataFrame:
    """Accepted events to one row per group and window that changed: the job's keys, `window_start`, MEASURES.

    Nothing but the set is kept: each record is an element of its own, so what arrived can be told of it as well as
    what counts (decision 0093).

    Windows cut out of the watermarked column would make Spark walk the whole state in every batch, to evict. These are
    cut out of the same time computed again and bear a mark of our own instead, by which `jobs.driver.eviction` has a
    batch walk now and then (decision 0096).
    """
    time = F.timestamp_millis("event_ms")
    groups = (
        events.withColumns({"event_time": time, "window_time": time})
        .withWatermark("event_time", f"{watermark_delay_ms} milliseconds")
        .withMetadata("window_time", {MARK: watermark_delay_ms})
        .groupBy(*job.keys, F.window("window_time", f"{job.window_ms} milliseconds").alias("window"))
        .agg(F.collect_set(element(job, click_interval_ms)).alias(fold.EVENTS))
    )
    start = F.col("window.start").alias("window_start")
    return fold.folded(groups.select(*job.keys, start, fold.EVENTS))


def element(job: Job, click_interval_ms: int) -> Column:
    """An event within its window's set: struct(kind, id, offset, cost).

    `kind` holds partition, click interval and whether it is a click: fates look at the records before it in its
    partition only, and within a partition the offset is the append order.
    """
    interval = F.expr(f"(event_ms % {job.window_ms}L) div {click_interval_ms}L")
    clicks = F.when(F.col("is_click"), interval * 2 + 1).otherwise(0)
    kind = (F.col("partition").cast("long") * 2 * job.window_ms + clicks).alias("kind")
    own = F.when(F.col("is_click"), F.col("user_id").cast("binary")).otherwise(F.col("event_id"))
    rest = [F.concat(F.lit(b"\0"), F.col(name).cast("binary")) for name in IDENTITY if name not in job.keys]
    identity = F.concat(own, *rest) if rest else own
    return F.struct(kind, identity.alias("id"), F.col("offset"), F.col("cost_micros").alias("cost"))
