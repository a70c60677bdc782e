"""Playing records into a log: at their due times by an open loop, or as fast as it goes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Protocol

from traffic.log import Log
from traffic.records import Kind, Record

_TELL_EVERY = 500


class Clock(Protocol):
    """Seconds since some fixed moment, and waiting."""

    def now(self) -> float:
        """Seconds, never going back."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """Seconds since the machine started."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


@dataclass(frozen=True)
class Played:
    """What a play did. `behind_s`: the most that a record was handed over after its due time (0 at full
    speed)."""

    records: int
    delivered: int
    failed: int
    first_error: str | None
    seconds: float
    behind_s: float
    kinds: dict[str, int]

    @property
    def per_second(self) -> float:
        """Records handed over per second until the last was delivered."""
        return self.records / self.seconds if self.seconds else 0.0


def play(
    records: Iterable[Record],
    log: Log,
    clock: Clock,
    paced: bool,
    tell: Callable[[int], None] = lambda _: None,
) -> Played:
    """Send all records, then wait for their delivery.

    `paced`: each at its due time counted from the start of the play, whatever the log does (open loop): a
    record that is behind its time goes at once, and no later one moves. `tell` hears the number sent so
    far, now and then.
    """
    kinds: Counter[Kind] = Counter()
    records = _primed(records)
    started = clock.now()
    behind = 0.0
    for number, record in enumerate(records, 1):
        if paced:
            behind = max(behind, _await(started + record.due, clock))
        log.send(record.key, record.value)
        kinds[record.kind] += 1
        if number % _TELL_EVERY == 0:
            tell(number)
    delivery = log.close()
    tell(kinds.total())
    return Played(
        records=kinds.total(),
        delivered=delivery.delivered,
        failed=delivery.failed,
        first_error=delivery.first_error,
        seconds=clock.now() - started,
        behind_s=behind,
        kinds={str(kind): count for kind, count in sorted(kinds.items())},
    )


def at_rate(records: Iterable[Record], rate: float) -> Iterator[Record]:
    """The same records, the n-th due after n / rate seconds."""
    for number, record in enumerate(records):
        yield record._replace(due=number / rate)


def _primed(records: Iterable[Record]) -> Iterator[Record]:
    """The same records, the first one made already: what a source prepares must not put the play behind."""
    rest = iter(records)
    return chain(list(islice(rest, 1)), rest)


def _await(due: float, clock: Clock) -> float:
    """Wait until `due`; returns by how much it has passed already."""
    ahead = due - clock.now()
    if ahead > 0:
        clock.sleep(ahead)
    return max(-ahead, 0.0)
