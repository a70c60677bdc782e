"""What one version had to do lately and how it coped: the facts from which advice on its size is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kappa.core.job_catalog import longest_ms
from kappa.core.refusals import Refusal
from kappa.core.serialization import Serializable

LOOK_SECONDS = 600
"""Growth is told from so long: one burst, or one slow batch, is no reason."""
QUIET_HOURS = 3
"""Shrinking is told from so long."""
WAITING_SECONDS = 60.0
"""A record that waits for longer was not taken by the next batch: the version does not keep up."""


@dataclass(frozen=True)
class Free:
    """What nobody has of the cluster: cores, and memory in MB."""

    cores: int
    memory_mb: int


def free_of(capacity: Callable[[], Mapping[str, int]]) -> Free | None:
    """What the cluster has free, by `free_cores` and `free_memory_mb` of what it tells; None where it does not
    answer, which is a Refusal."""
    try:
        told = capacity()
    except Refusal:
        return None
    return Free(told["free_cores"], told["free_memory_mb"])


@dataclass(frozen=True)
class Load(Serializable):
    """The facts about a version that serves the live end.

    `unchanged_seconds`: for how long it has been what it is. `beat_seconds`: since its driver's newest heartbeat (None:
    never). `batch_ms`: how long its newest batch took. `gap_ms`: the time from one commit to the next, which nine of
    ten batches of the last LOOK_SECONDS reach or exceed (None: fewer than two batches). `reads_per_second`: records,
    over the same time. `peak_per_second`: records read in the busiest full minute of the last QUIET_HOURS.
    `lag_events`, `lag_seconds`: unread records, and for how long the oldest waits. `failing`: the red lines that say
    that its batches fail, by name.
    """

    job: str
    version: int
    state: str
    desired: str
    settings: Mapping[str, int]
    unchanged_seconds: float
    beat_seconds: float | None
    batch_ms: int | None
    gap_ms: float | None
    lag_events: int
    lag_seconds: float
    reads_per_second: float
    peak_per_second: float
    state_rows: int | None = None
    state_bytes: int | None = None
    failing: str = ""

    @property
    def name(self) -> str:
        """The version for people."""
        return f"{self.job} v{self.version}"

    @property
    def cadence_ms(self) -> int:
        """The least time between the starts of two batches; 0 is counted as 1: such a version always works."""
        return max(1, self.settings["cadence_ms"])

    @property
    def utilisation(self) -> float:
        """The newest batch's time over the time between two on a busy machine (ms over ms); 0 before the first batch.
        What batches cost that begin more often is mostly fixed, and says nothing of a size."""
        return (self.batch_ms or 0) / (longest_ms(self.settings["cadence_ms"]) or 1)

    @property
    def arriving_per_second(self) -> float:
        """Records that arrive: what is unread arrived while its oldest waited, so the one over the other. A version
        that keeps up reads what arrives, so what it reads."""
        return self.lag_events / self.lag_seconds if self.lag_seconds >= WAITING_SECONDS else self.reads_per_second

    @property
    def able_per_second(self) -> float | None:
        """Records that it could read if it always worked: what it reads over the share of the time that it works for
        it. Each batch's fixed costs are counted as work, so it is rather too low. None: nothing was read."""
        share = min(1.0, self.utilisation)
        return self.reads_per_second / share if share and self.reads_per_second else None

    @property
    def growth_per_second(self) -> float | None:
        """By how many records what is unread grows; negative: it shrinks. None of a version that keeps up."""
        return self.arriving_per_second - self.reads_per_second if self.lag_seconds >= WAITING_SECONDS else None
