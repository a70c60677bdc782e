"""Reading a Spark checkpoint: which batches it planned and committed, and whether it may be gone on with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kappa.core.installation.settings import Settings
from kappa.core.log.kafka_log import Offsets
from kappa.core.refusals import Refusal
from kappa.core.store.location import Location, StoreAway
from kappa.core.versions import Version

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
PARTITIONS = "spark.sql.shuffle.partitions"
METADATA = "metadata"


class CheckpointLost(Refusal):
    """The database knows of batches that the checkpoint has not: starting would count from an empty or old state."""

    def __init__(self, place: Location, recorded: int, found: int | None) -> None:
        has = "it holds no batch" if found is None else f"its newest batch is {found}"
        super().__init__(
            f"the database holds batch {recorded} of checkpoint {place.name}, but {has}. Nothing was started. "
            "Bring the checkpoint back. Where only its newest plan is lost, './kappa repair JOB --checkpoint' restores "
            "it; else replay the log into a new version with './kappa reprocess'."
        )


class DatabaseBehind(Refusal):
    """The checkpoint committed batches that the database has never seen: the database was restored from a backup."""

    def __init__(self, place: Location, recorded: int | None, committed: int) -> None:
        super().__init__(
            f"checkpoint {place.name} committed batch {committed}, the database's newest is {recorded}. Nothing was "
            "started. Replay the log into a new version with './kappa reprocess'."
        )


class ForeignCheckpoint(Refusal):
    """The checkpoint's newest recorded batch ends elsewhere than the database's progress."""

    def __init__(self, place: Location, expected: Offsets, found: Offsets) -> None:
        super().__init__(
            f"the database is at the offsets {expected}, checkpoint {place.name} at {found}: they belong to different "
            "histories. Nothing was started. Bring the checkpoint back that the version last ran on, or replay the log "
            "into a new version with './kappa reprocess'."
        )


class DamagedOffsets(Refusal):
    """A file of the checkpoint that says what it holds cannot be read."""

    def __init__(self, file: Location, problem: str) -> None:
        super().__init__(
            f"checkpoint file {file.parent.name}/{file.name} cannot be read: {problem}. Bring it back, or restore it "
            "from the database's offsets with './kappa repair JOB --checkpoint', which says so where that is not exact."
        )


@dataclass(frozen=True)
class Planned:
    """A batch as Spark logged it before it ran: end offsets (exclusive) and the watermark in force, in epoch ms."""

    end: Offsets
    watermark_ms: int


@dataclass(frozen=True)
class StatefulOperator:
    """A stateful operator as the checkpoint describes it: Spark's number and name of it, and its stores."""

    operator_id: int
    name: str
    stores: tuple[str, ...]


@dataclass(frozen=True)
class CheckpointFacts:
    """What a checkpoint says of itself.

    `provider` is the class that keeps the state, `state_partitions` the number that the newest committed batch ran
    with (empty and 0 before the first batch); `operators` are the stateful ones in order, `bytes` those of the state.
    """

    provider: str
    state_partitions: int
    operators: tuple[str, ...]
    newest_planned: int | None
    newest_committed: int | None
    bytes: int


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint."""

    place: Location

    def newest_planned(self) -> int | None:
        """The newest batch with an offsets file."""
        return _newest(self.place / "offsets")

    def newest_committed(self) -> int | None:
        """The newest batch with a commit file."""
        return _newest(self.place / "commits")

    def is_pending(self) -> bool:
        """Whether a batch was planned and not committed."""
        return self.newest_planned() != self.newest_committed()

    def planned(self, batch_id: int, topic: str) -> Planned:
        """The batch as it was logged. Raises DamagedOffsets."""
        with _named(self.place / "offsets" / str(batch_id)) as file:
            lines = file.read().decode().splitlines()
            ends = json.loads(lines[2])[topic]
            watermark = int(json.loads(lines[1])["batchWatermarkMs"])
            return Planned({int(p): int(offset) for p, offset in ends.items()}, watermark)

    def check_commit(self, batch_id: int) -> None:
        """Pass where Spark's word that it committed the batch can be read. Raises DamagedOffsets."""
        with _named(self.place / "commits" / str(batch_id)) as file:
            int(json.loads(file.read().decode().splitlines()[1])["nextBatchWatermarkMs"])

    def check_identity(self) -> None:
        """Pass where the file can be read without which Spark starts no query. Raises DamagedOffsets."""
        with _named(self.place / METADATA) as file:
            str(json.loads(file.read().decode())["id"])

    def operators(self) -> tuple[StatefulOperator, ...]:
        """The stateful operators by number; none before the first batch. Raises DamagedOffsets."""
        state = self.place / "state"
        folders = [state / name for name in sorted(filter(str.isdigit, state.names()), key=int)]
        return tuple(_operator(folder) for folder in folders if (folder / "_metadata").names())

    def facts(self) -> CheckpointFacts:
        """What it says of itself, also while a query writes to it. Raises DamagedOffsets."""
        planned, committed = self.newest_planned(), self.newest_committed()
        conf = self._configuration(planned if committed is None else committed)
        return CheckpointFacts(
            provider=conf.get(PROVIDER, ""),
            state_partitions=int(conf.get(PARTITIONS, 0)),
            operators=tuple(operator.name for operator in self.operators()),
            newest_planned=planned,
            newest_committed=committed,
            bytes=(self.place / "state").size(),
        )

    def _configuration(self, batch_id: int | None) -> dict[str, str]:
        """The settings that Spark pinned when it planned the batch; they win over the session's."""
        if batch_id is None:
            return {}
        with _named(self.place / "offsets" / str(batch_id)) as file:
            return dict(json.loads(file.read().decode().splitlines()[1])["conf"])


def checkpoint_of(settings: Settings, version: Version) -> Checkpoint:
    """The checkpoint that the version runs on."""
    return Checkpoint(settings.checkpoints(version.job, version.version) / version.folder)


def check(checkpoint: Checkpoint, recorded: int | None) -> None:
    """Refuse a start that the database's newest batch of this generation contradicts.

    For a repartitioned generation `recorded` is at least the batch that the repartition itself committed.
    Raises CheckpointLost, DatabaseBehind.
    """
    planned, committed = checkpoint.newest_planned(), checkpoint.newest_committed()
    if recorded is not None and (planned is None or planned < recorded):
        raise CheckpointLost(checkpoint.place, recorded, planned)
    if committed is not None and (recorded is None or committed > recorded):
        raise DatabaseBehind(checkpoint.place, recorded, committed)


def check_offsets(checkpoint: Checkpoint, recorded: int | None, topic: str, progress: Offsets) -> None:
    """Refuse a start from a checkpoint that is not where the database is, though their batch ids may agree, or of which
    Spark could not read a file.

    `progress` is the next offset per partition. Raises ForeignCheckpoint, DamagedOffsets.
    """
    _check_files(checkpoint, topic)
    if recorded is None:
        return
    found = checkpoint.planned(recorded, topic).end
    if found != progress:
        raise ForeignCheckpoint(checkpoint.place, progress, found)


def _check_files(checkpoint: Checkpoint, topic: str) -> None:
    """Read what Spark reads at a start: its identity, the plans of the two newest batches, the newest commit."""
    planned, committed = checkpoint.newest_planned(), checkpoint.newest_committed()
    if planned is None:
        return
    checkpoint.check_identity()
    for batch_id in range(max(0, planned - 1), planned + 1):
        checkpoint.planned(batch_id, topic)
    if committed is not None:
        checkpoint.check_commit(committed)


@contextmanager
def _named(file: Location) -> Iterator[Location]:
    """Name the file where what it holds is not what Spark writes. Raises StoreAway: then nobody knows what it holds."""
    try:
        yield file
    except StoreAway:
        raise
    except (OSError, IndexError, KeyError, ValueError) as error:
        raise DamagedOffsets(file, str(error)) from error


def _operator(folder: Location) -> StatefulOperator:
    """The operator of a folder of the state; its newest description where it has several."""
    versions = folder / "_metadata" / "v2"
    newest = _newest(versions)
    with _named(folder / "_metadata" / "metadata" if newest is None else versions / str(newest)) as file:
        held = json.loads(file.read().decode().splitlines()[1])
        own, stores = held["operatorInfo"], held["stateStoreInfo"]
        return StatefulOperator(own["operatorId"], own["operatorName"], tuple(s["storeName"] for s in stores))


def _newest(folder: Location) -> int | None:
    return max(map(int, filter(str.isdigit, folder.names())), default=None)
