"""ad_ctr: impressions, clicks and spend per client, ad and minute."""

from __future__ import annotations

from pyspark.sql import DataFrame

from jobs.pipelines.pipeline import Run
from jobs.transforms import decode, fates, windows
from kappa.core import catalog

JOB = catalog.find("ad_ctr")


def build(records: DataFrame, run: Run) -> DataFrame:
    """RECORD rows to rows of (client_id, ad_id, window_start) and MEASURES."""
    events = fates.with_fate(decode.decode(records), run.settings, run.starts_at_ms)
    accepted = fates.accepted(fates.observed(events, run.partitions))
    interval_ms = run.settings["click_interval_ms"]
    return windows.counted(accepted, JOB, interval_ms, run.watermark_delay_ms, evicting=run.evicting)
