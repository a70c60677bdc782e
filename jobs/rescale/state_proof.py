"""Proof that a repartition kept the state: rows and an order-free hash of key and value per stateful operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kappa.core.checkpoint.reader import Checkpoint, StatefulOperator
from kappa.core.refusals import Refusal


class StateDiffers(Refusal):
    """The repartitioned state is not the state that it was made from."""

    def __init__(self, differences: Sequence[str]) -> None:
        super().__init__(
            f"the state differs after the repartition: {'; '.join(differences)}. The version keeps its old checkpoint; "
            "the copy is thrown away. Run the rescale again; if it differs again, replay with './kappa reprocess'."
        )


@dataclass(frozen=True)
class Measured:
    """The state of one stateful operator.

    `total` (decimal digits: 64-bit hashes summed without overflow) and `xor` are over xxhash64(key, value) of all rows,
    in no order; `misplaced` are rows in another partition than the one in which the query would look for their key.
    """

    operator_id: int
    name: str
    partitions: int
    rows: int
    total: str
    xor: int
    misplaced: int

    def told(self) -> tuple[int, str, int, str, int]:
        """What a repartition must not change."""
        return self.operator_id, self.name, self.rows, self.total, self.xor


@dataclass(frozen=True)
class Proof:
    """The state before and after, operator by operator."""

    before: tuple[Measured, ...]
    after: tuple[Measured, ...]

    @property
    def equal(self) -> bool:
        """Whether every row is still there, as it was, where the query will look for it."""
        return not self.differences()

    def differences(self) -> list[str]:
        """What is wrong, in words; nothing where the proof holds."""
        if [m.operator_id for m in self.before] != [m.operator_id for m in self.after]:
            return [f"operators {[m.name for m in self.before]} became {[m.name for m in self.after]}"]
        said = [
            f"{a.name}: rows {a.rows} -> {b.rows}, hash {a.total}/{a.xor} -> {b.total}/{b.xor}"
            for a, b in zip(self.before, self.after, strict=True)
            if a.told() != b.told()
        ]
        return said + [f"{m.name}: {m.misplaced} rows lie in a wrong partition" for m in self.after if m.misplaced]

    def to_json(self) -> dict[str, Any]:
        """The value as JSON."""
        sides = {"before": self.before, "after": self.after}
        return {name: [asdict(m) for m in side] for name, side in sides.items()} | {"equal": self.equal}


def check(proof: Proof) -> None:
    """Refuse a repartition that changed the state. Raises StateDiffers."""
    if differences := proof.differences():
        raise StateDiffers(differences)


def measure(spark: SparkSession, checkpoint: Checkpoint) -> tuple[Measured, ...]:
    """The state after the newest committed batch, of every stateful operator; reads only, and all of it once.

    Spark reads as many partitions as the batch's offsets file pins; what its `state-metadata` says of partitions stays
    the first number for ever. Raises DamagedOffsets.
    """
    facts = checkpoint.facts()
    if facts.newest_committed is None:
        return ()
    return tuple(
        _measure(_state(spark, checkpoint, operator, facts.newest_committed), operator, facts.state_partitions)
        for operator in checkpoint.operators()
    )


def key_columns(spark: SparkSession, checkpoint: Checkpoint, operator: StatefulOperator, batch_id: int) -> list[str]:
    """The columns that the operator's state is kept by."""
    return _state(spark, checkpoint, operator, batch_id).select("key.*").columns


def _state(spark: SparkSession, checkpoint: Checkpoint, operator: StatefulOperator, batch_id: int) -> DataFrame:
    """Rows of (key struct, value struct, partition_id)."""
    # Asking for the streams starts what coordinates the stores; without it, a session that ran no query cannot read.
    assert spark.streams is not None
    reader = spark.read.format("statestore").option("operatorId", operator.operator_id).option("batchId", batch_id)
    state: DataFrame = reader.load(str(checkpoint.place))
    return state


def _measure(state: DataFrame, operator: StatefulOperator, partitions: int) -> Measured:
    row_hash = F.xxhash64("key", "value")
    home = F.pmod(F.hash("key"), F.lit(partitions))  # as the query's shuffle places the keys of a group
    row = state.agg(
        F.count(F.lit(1)).alias("rows"),
        F.sum(row_hash.cast("decimal(38,0)")).alias("total"),
        F.bit_xor(row_hash).alias("xor"),
        F.count_if(home != F.col("partition_id")).alias("misplaced"),
    ).first()
    assert row is not None
    return Measured(
        operator.operator_id,
        operator.name,
        partitions,
        row["rows"],
        str(row["total"] or 0),
        row["xor"] or 0,
        row["misplaced"],
    )
