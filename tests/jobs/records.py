"""Records of the log, made by hand for tests."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

MINUTE = 60_000
NOON = 1_795_262_400_000
"""A full minute, epoch ms."""


def record(offset: int, *, partition: int = 0, append_ms: int | None = None, **fields: Any) -> tuple[Any, ...]:
    """A RECORD row; `fields` override those of an impression at NOON; append_time is event_time unless given."""
    event = {
        "event_id": str(UUID(int=offset)),
        "event_type": "impression",
        "slot_id": "s",
        "client_id": "c",
        "ad_id": "a",
        "user_id": "u",
        "event_time": NOON,
        "cost_micros": 5,
        **fields,
    }
    appended = event["event_time"] if append_ms is None else append_ms
    return (partition, offset, appended, True, str(event["user_id"]).encode(), json.dumps(event).encode())


def uuid(number: int) -> str:
    """The event_id that `record` gives to an offset."""
    return str(UUID(int=number))


def dead_letters(spark: SparkSession, count: int, key_bytes: int, value_bytes: int) -> DataFrame:
    """RECORD rows, all of them dead letters, with keys and values of these lengths, in one partition."""
    key, value = (F.repeat(F.lit("x"), length).cast("binary") for length in (key_bytes, value_bytes))
    return spark.range(0, count, 1, 1).select(
        F.lit(0).alias("partition"), F.col("id").alias("offset"), F.lit(NOON).alias("append_ms"),
        F.lit(True).alias("stamped"), key.alias("key"), value.alias("value"),
    )  # fmt: skip
