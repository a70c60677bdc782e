"""The fate of a record as far as the record alone decides it (contract, section 2), beside its event and its count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from jobs import schemas
from jobs.transforms import decode, tally
from jobs.transforms.python_worker import on_each_batch
from kappa.core.fates import Fate

OBSERVATION = "log"
"""Name under which a batch's counts are observed."""
TALLIES = "tallies"
"""The one value that is observed: a text per Arrow batch, as `tally.Observed.to_text` makes it."""
FATE, TALLY = StructField("fate", StringType()), StructField("tally", StringType())
Rule = Callable[[pa.RecordBatch], pa.StringArray]
"""EVENT columns to the fate of each, null of an accepted event."""


def rule(settings: Mapping[str, int], starts_at_ms: int | None) -> Rule:
    """The rule of a version with these settings, which starts at T (epoch ms; None: with the log)."""
    bounds = {name: settings[name] for name in ("future_bound_ms", "allowed_lateness_ms")}
    return partial(fates_of, bounds=bounds, starts_at_ms=starts_at_ms)


def fates_of(batch: pa.RecordBatch, bounds: Mapping[str, int], starts_at_ms: int | None) -> pa.StringArray:
    """The first refusing line of the contract's table, record by record; null where none does."""
    event_ms, append_ms = (pc.fill_null(batch.column(name), 0).to_numpy() for name in ("event_ms", "append_ms"))
    age = append_ms - event_ms
    lines = {
        Fate.DEAD_LETTER: batch.column("reason").is_valid().to_numpy(zero_copy_only=False),
        Fate.BEFORE_START: event_ms < (np.iinfo(np.int64).min if starts_at_ms is None else starts_at_ms),
        Fate.FUTURE: -age > bounds["future_bound_ms"],
        Fate.LATE: age > bounds["allowed_lateness_ms"],
    }
    line = np.select(list(lines.values()), range(len(lines)), len(lines))
    return pa.array([*(fate.value for fate in lines), None], pa.string()).take(pa.array(line))


def with_fate(events: DataFrame, settings: Mapping[str, int], starts_at_ms: int | None) -> DataFrame:
    """EVENT rows and a column `fate`: the first refusing line of the contract's table, null for an accepted event."""
    schema = StructType([*events.schema.fields, FATE])
    return events.mapInArrow(on_each_batch(partial(_with_fate, decide=rule(settings, starts_at_ms))), schema)


def judged(records: DataFrame, decide: Rule, keep_bytes: bool = False) -> DataFrame:
    """RECORD rows to EVENT rows, with `keep_bytes` to KEPT, one each, and their `fate`. What they hold is counted where
    they are decoded, and observed on its way: in one task of Python, since each more costs a batch as much again.

    The observation stands before any filter, which also keeps the optimizer from decoding twice. One value of it, since
    each aggregate of Spark's is written out as source text by each task of each batch (docs/decisions/0092).
    """
    schema = StructType([*(decode.KEPT if keep_bytes else schemas.EVENT).fields, FATE, TALLY])
    work = on_each_batch(partial(judge_batch, decide=decide, keep_bytes=keep_bytes))
    events = decode.cut(records).mapInArrow(work, schema)
    return events.observe(OBSERVATION, F.collect_list(TALLY.name).alias(TALLIES)).drop(TALLY.name)


def judge_batch(batch: pa.RecordBatch, decide: Rule, keep_bytes: bool = False) -> pa.RecordBatch:
    """One Arrow batch as `decode.cut` makes it to its events, fates, and beside the first of them the whole tally."""
    judged = _with_fate(decode.decode_batch(batch, keep_bytes), decide)
    counted = tally.of_batch(judged, judged.column(FATE.name)).to_text()
    beside = [counted, *[None] * (judged.num_rows - 1)] if judged.num_rows else []
    return judged.append_column(TALLY.name, pa.array(beside, pa.string()))


def accepted(events: DataFrame) -> DataFrame:
    """The rows that no rule refused, without the columns that served to decide it."""
    return events.where(F.col("fate").isNull()).drop("fate", "reason", "append_ms", "stamped")


def _with_fate(events: pa.RecordBatch, decide: Rule) -> pa.RecordBatch:
    return events.append_column(FATE.name, decide(events))
