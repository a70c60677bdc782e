"""Reading a Spark checkpoint: which batches it planned and committed, and whether it may be gone on with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from jobs.log import Offsets
from jobs.refusals import Refusal


class CheckpointLost(Refusal):
    """The database knows of batches that the checkpoint has not: starting would count from an empty or old state."""

    def __init__(self, path: Path, recorded: int, found: int | None) -> None:
        has = "it holds no batch" if found is None else f"its newest batch is {found}"
        super().__init__(
            f"the database holds batch {recorded} of checkpoint {path.name}, but {has}. Nothing was started. "
            "Bring the checkpoint back, or replay the log into a new version with './kappa reprocess'."
        )


class DatabaseBehind(Refusal):
    """The checkpoint committed batches that the database has never seen: the database was restored from a backup."""

    def __init__(self, path: Path, recorded: int | None, committed: int) -> None:
        super().__init__(
            f"checkpoint {path.name} committed batch {committed}, the database's newest is {recorded}. Nothing was "
            "started. Replay the log into a new version with './kappa reprocess'."
        )


class DamagedOffsets(Refusal):
    """An offsets file of the checkpoint cannot be read."""

    def __init__(self, file: Path, problem: str) -> None:
        super().__init__(f"checkpoint file {file.parent.name}/{file.name} cannot be read: {problem}. Bring it back.")


@dataclass(frozen=True)
class Planned:
    """A batch as Spark logged it before it ran: end offsets (exclusive) and the watermark in force, in epoch ms."""

    end: Offsets
    watermark_ms: int


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint folder."""

    path: Path

    def newest_planned(self) -> int | None:
        """The newest batch with an offsets file."""
        return _newest(self.path / "offsets")

    def newest_committed(self) -> int | None:
        """The newest batch with a commit file."""
        return _newest(self.path / "commits")

    def is_pending(self) -> bool:
        """Whether a batch was planned and not committed."""
        return self.newest_planned() != self.newest_committed()

    def planned(self, batch_id: int, topic: str) -> Planned:
        """The batch as it was logged. Raises DamagedOffsets."""
        file = self.path / "offsets" / str(batch_id)
        try:
            lines = file.read_text().splitlines()
            ends = json.loads(lines[2])[topic]
            watermark = int(json.loads(lines[1])["batchWatermarkMs"])
        except (OSError, IndexError, KeyError, ValueError) as error:
            raise DamagedOffsets(file, str(error)) from error
        return Planned({int(p): int(offset) for p, offset in ends.items()}, watermark)


def check(checkpoint: Checkpoint, recorded: int | None) -> None:
    """Refuse a start that the database's newest batch of this generation contradicts.

    Raises CheckpointLost, DatabaseBehind.
    """
    planned, committed = checkpoint.newest_planned(), checkpoint.newest_committed()
    if recorded is not None and (planned is None or planned < recorded):
        raise CheckpointLost(checkpoint.path, recorded, planned)
    if committed is not None and (recorded is None or committed > recorded):
        raise DatabaseBehind(checkpoint.path, recorded, committed)


def _newest(folder: Path) -> int | None:
    if not folder.is_dir():
        return None
    return max((int(f.name) for f in folder.iterdir() if f.name.isdigit()), default=None)
