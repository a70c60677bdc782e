"""Where records come from: the Kafka topic as RECORD rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamReader

from kappa.core.installation.kafka_access import KafkaAccess
from kappa.core.job_catalog import EXECUTORS, working_cores
from kappa.core.log.kafka_log import IDLE_MS, LEADERS_AGE_MS, Offsets

APPEND_STAMPED = 1
"""Spark's `timestampType` of a record that the broker stamped."""
OFFSET_RETRIES, RETRY_MS = 300, 200
"""So often, and after so many ms each, the ends are asked for anew by a batch that begins, before the query ends."""


@dataclass(frozen=True)
class Patience:
    """How long Kafka's clients wait, in ms: `answer_ms` for an answer of one broker, before another one is asked;
    `ends_ms` for the ends of the log, before the question is given up and asked anew by another client."""

    answer_ms: int
    ends_ms: int


ON_EXECUTORS = Patience(answer_ms=3_000, ends_ms=3_000)
"""A broker whose host is gone is missed after 9 s, and who asked before knows nothing of the one that leads then."""
IN_OWN_PROCESS = Patience(answer_ms=5_000, ends_ms=20_000)
"""Where a question that is given up ends the query: a task is tried again on executors alone."""


def stream(
    spark: SparkSession, access: KafkaAccess, topic: str, start: Offsets, settings: Mapping[str, int]
) -> DataFrame:
    """RECORD rows of exactly the partitions in `start`, from its offsets on (a checkpoint's own go first).

    They are read by as many tasks as there are cores that do the work, at most one a partition.
    The partitions are assigned, not subscribed: one that is added later is noticed by the driver, never read by chance.
    """
    reader = spark.readStream.format("kafka").option("maxOffsetsPerTrigger", settings["records_per_batch"])
    loaded = _options(reader, access, topic, start, patience_of(settings)).load()
    return _records(loaded).coalesce(working_cores(settings))


def patience_of(settings: Mapping[str, int]) -> Patience:
    """How long the clients of a job with these settings wait."""
    return ON_EXECUTORS if settings[EXECUTORS] else IN_OWN_PROCESS


def _options(
    reader: DataStreamReader, access: KafkaAccess, topic: str, start: Offsets, patience: Patience
) -> DataStreamReader:
    options = {
        **access.spark(),
        "assign": json.dumps({topic: sorted(start)}),
        "startingOffsets": json.dumps({topic: {str(p): offset for p, offset in sorted(start.items())}}),
        "failOnDataLoss": "true",
        # What is fetched ahead of the end of the log waits there for so long, and behind it, on the same connection, do
        # Spark's two questions for the partition's ends that follow each poll (docs/decisions/0092).
        "kafka.fetch.max.wait.ms": "1",
        "kafka.max.poll.records": "5000",  # half the cost of reading a record
        # The host of a broker that is gone answers nothing. By default that is noticed after 30 s, and twice in a row.
        "kafka.request.timeout.ms": str(patience.answer_ms),
        # And a connection to one is given up by default after 10 s, then each time later than before, up to 30 s. The
        # time counts until the host has answered at all, which takes a fraction of a second anywhere.
        "kafka.socket.connection.setup.timeout.ms": "1000",
        "kafka.socket.connection.setup.timeout.max.ms": "3000",
        # Who leads now is asked of a broker that a connection is being made to, rather than of another one. So the one
        # that is gone is tried again only after others had the time to be asked (docs/decisions/0065).
        "kafka.reconnect.backoff.ms": "500",
        "kafka.reconnect.backoff.max.ms": "1000",
        "kafka.retry.backoff.max.ms": "200",
        "kafka.metadata.max.age.ms": str(LEADERS_AGE_MS),
        # The client that asks for the ends works on while a batch is read, and so forgets a broker that is gone.
        "kafka.connections.max.idle.ms": str(IDLE_MS),
        # A question for the ends that waits to be sent to a broker is not sent to another one that leads by now; by
        # default that is given up, and asked anew, after 60 s (docs/decisions/0065).
        "kafka.default.api.timeout.ms": str(patience.ends_ms),
        "fetchOffset.numRetries": str(OFFSET_RETRIES),
        "fetchOffset.retryIntervalMs": str(RETRY_MS),
    }
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader


def _records(loaded: DataFrame) -> DataFrame:
    return loaded.select(
        "partition",
        "offset",
        F.unix_millis("timestamp").alias("append_ms"),
        (F.col("timestampType") == APPEND_STAMPED).alias("stamped"),
        "key",
        "value",
    )
