"""A sink that has each batch computed whole and keeps nothing of it, for a trial and for a driver that is warmed."""

from __future__ import annotations

import logging

from pyspark.sql import DataFrame

logger = logging.getLogger("kappa.noop_sink")


class NoopSink:
    """The callback of a query; `rows` is how many rows came so far."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Read all rows of one batch, so that every partition is computed."""
        self.rows += frame.toArrow().num_rows
        logger.info("batch %s computed, %s rows so far", batch_id, self.rows)
