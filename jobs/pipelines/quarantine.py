"""quarantine: what the other jobs refuse as dead letter, future or late, with its reason and bytes."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.pipelines.pipeline import Run
from jobs.transforms import fates
from kappa.core.fates import QUARANTINED, Fate

_WHY = {
    Fate.FUTURE: "event_time is further past append_time than the future bound",
    Fate.LATE: "append_time is further past event_time than the allowed lateness",
}


def build(records: DataFrame, run: Run) -> DataFrame:
    """RECORD rows to a row per refused record: partition, offset, append_ms, fate, reason, key, value, value_bytes."""
    events = fates.judged(records, fates.rule(run.settings, run.starts_at_ms), keep_bytes=True)
    refused = events.where(F.col("fate").isin(*(fate.value for fate in QUARANTINED)))
    why = F.coalesce("reason", *(F.when(F.col("fate") == fate.value, text) for fate, text in _WHY.items()))
    kept = ("key", "value", "value_bytes")
    return refused.select("partition", "offset", "append_ms", "fate", why.alias("reason"), *kept)
