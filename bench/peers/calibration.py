"""How fast and how quiet the machine is: one loop of fixed work, timed before, between and after measurements."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

LOOPS = 5_000_000
"""About a third of a second of one core of 2024."""
ROUNDS = 5
QUIET_SPREAD, QUIET_TAKEN = 1.15, 0.1


@dataclass(frozen=True)
class Round:
    """One pass of the loop: seconds by the wall clock, and seconds in which it had a core."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Noise:
    """What all passes of a run say of the machine.

    `spread`: the slowest pass over the fastest, by the wall clock. `taken`: the part of the wall clock in which the
    loop wanted a core and others had it. `drift`: the slowest group of passes over the fastest, by medians of seconds
    with a core: above 1 the cores themselves changed their speed.
    """

    spread: float
    taken: float
    drift: float

    @property
    def is_quiet(self) -> bool:
        """Whether figures of the run may be compared with each other."""
        return max(self.spread, self.drift) <= QUIET_SPREAD and self.taken <= QUIET_TAKEN

    def sentence(self) -> str:
        """For people."""
        verdict = "quiet" if self.is_quiet else "NOT quiet: compare nothing finer than this"
        return (
            f"the machine was {verdict}. The same loop took up to {self.spread:.2f} times its fastest pass, others had "
            f"{self.taken:.0%} of its time, and the cores' own speed changed by {self.drift:.2f}."
        )


def calibrate(rounds: int = ROUNDS, loops: int = LOOPS) -> list[Round]:
    """Time the loop some times, one after the other."""
    return [_round(loops) for _ in range(rounds)]


def noise(groups: Sequence[Sequence[Round]]) -> Noise:
    """What the passes say, by when they were made: at least one group, none of them empty."""
    passes = [each for group in groups for each in group]
    walls = [each.wall for each in passes]
    medians = [sorted(each.cpu for each in group)[len(group) // 2] for group in groups]
    cpu = sum(each.cpu for each in passes)
    return Noise(max(walls) / min(walls), max(0.0, 1 - cpu / sum(walls)), max(medians) / min(medians))


def _round(loops: int) -> Round:
    wall, cpu = time.perf_counter(), time.thread_time()
    total = 0
    for number in range(loops):
        total += number & 7
    return Round(time.perf_counter() - wall, time.thread_time() - cpu)
