"""What a job with windows counts: impressions, clicks and spend per group of its keys and minute."""

from __future__ import annotations

from pyspark.sql import DataFrame

from jobs.pipelines.pipeline import Run
from jobs.transforms import fates, windows
from kappa.core.job_catalog import Job


def build(records: DataFrame, job: Job, run: Run) -> DataFrame:
    """RECORD rows to rows of the job's keys, `window_start` and MEASURES."""
    accepted = fates.accepted(fates.judged(records, fates.rule(run.settings, run.starts_at_ms)))
    interval_ms = run.settings["click_interval_ms"]
    return windows.counted(accepted, job, interval_ms, run.watermark_delay_ms)
