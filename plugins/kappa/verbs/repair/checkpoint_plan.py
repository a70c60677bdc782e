"""The plan of a checkpoint's restoration: which of its files are written again from the database's offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kappa.core.checkpoint.restore import Mend


@dataclass(frozen=True)
class RestorePlan:
    """What has to be done to the files of one version's checkpoint; nothing where Spark can read them all."""

    job: str
    version: int
    generation: int
    mends: Sequence[Mend]

    @property
    def name(self) -> str:
        """The checkpoint for people."""
        return f"checkpoint g{self.generation} of {self.job} v{self.version}"

    def rows(self) -> list[tuple[str, str]]:
        """The plan for people."""
        found = [(mend.file, f"{_act(mend)}: {mend.why}") for mend in self.mends]
        return [(self.name, "restored from the database's offsets" if found else "nothing is damaged"), *found]

    def to_json(self) -> dict[str, Any]:
        """The plan for machines."""
        return {"job": self.job, "version": self.version, "generation": self.generation,
                "mends": [dict(vars(mend)) for mend in self.mends]}  # fmt: skip

    def sentence(self) -> str:
        """What was done, once it was."""
        if not self.mends:
            return f"{self.name}: every file can be read; nothing was changed."
        acts = "; ".join(f"{mend.file} {_act(mend)} ({mend.why})" for mend in self.mends)
        return f"{self.name}: {acts}. Go on with './kappa start {self.job}'."


def _act(mend: Mend) -> str:
    return "taken away" if mend.text is None else "written again"
