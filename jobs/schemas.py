"""The shapes that pass between sources, transforms and sinks, as Spark schemas."""

from __future__ import annotations

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

RECORD = StructType(
    [
        StructField("partition", IntegerType(), nullable=False),
        StructField("offset", LongType(), nullable=False),
        StructField("append_ms", LongType(), nullable=False),
        StructField("stamped", BooleanType(), nullable=False),
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
    ]
)
"""A record of the log as it was read; `append_ms` in epoch ms, `stamped` whether the broker set it."""

EVENT = StructType(
    [
        StructField("partition", IntegerType(), nullable=False),
        StructField("offset", LongType(), nullable=False),
        StructField("append_ms", LongType(), nullable=False),
        StructField("stamped", BooleanType(), nullable=False),
        StructField("event_id", BinaryType()),
        StructField("is_click", BooleanType()),
        StructField("slot_id", StringType()),
        StructField("client_id", StringType()),
        StructField("ad_id", StringType()),
        StructField("user_id", StringType()),
        StructField("event_ms", LongType()),
        StructField("cost_micros", LongType()),
        StructField("reason", StringType()),
    ]
)
"""A decoded record: `event_id` as its 16 bytes; with a `reason` it breaks a rule and the event's fields are null."""

EVENT_WITH_BYTES = StructType([*EVENT.fields, StructField("key", BinaryType()), StructField("value", BinaryType())])
"""An event beside the bytes it was decoded from, for the jobs that keep what they refuse."""
