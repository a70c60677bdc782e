"""How far the log has been read, and what follows: the watermark's delay and the guard that looks one batch ahead.

The watermark frees state and decides nothing else (architecture, section 3). All times are epoch ms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kappa.core.log.kafka_log import Log, Offsets
from kappa.core.refusals import Refusal

MARGIN_MS = 60_000
"""For clocks that differ a little: part of every delay (architecture, section 3)."""

SAMPLES = 24
"""Points in time at which the backlog's partitions are held against each other."""


class WatermarkTooFast(Refusal):
    """The watermark that this batch would set could drop a record that the contract accepts."""

    def __init__(self, next_watermark_ms: int, limit_ms: int) -> None:
        self.shortfall_ms = next_watermark_ms - limit_ms
        super().__init__(
            f"the batch would set the watermark to {next_watermark_ms}, past {limit_ms}, where unread records may "
            f"lie; it was rolled back, and the query restarts with a delay longer by "
            f"{self.shortfall_ms + MARGIN_MS} ms."
        )


class ReachUnknown(Exception):  # noqa: N818 - it may pass
    """Nothing is known of what a partition still holds: the log did not say, and nothing of it was read."""

    def __init__(self, partitions: Sequence[int]) -> None:
        super().__init__(
            f"it is not known from which append_time on the partitions {list(partitions)} are unread, so the watermark "
            "could pass records that are to be counted; the batch was rolled back and is tried again"
        )


@dataclass(frozen=True)
class Ends:
    """The ends of the partitions, asked for after the database's clock said `at_ms`; `unread_from_ms` is append_time of
    the first unread record, of the partitions for which it was asked.

    Of the partitions in `uncertain` more had, or may have, been appended than their end tells.
    """

    at_ms: int
    offsets: Mapping[int, int]
    unread_from_ms: Mapping[int, int] = field(default_factory=dict)
    uncertain: frozenset[int] = frozenset()


@dataclass
class Reach:
    """Up to which append_time each partition has been read; it only grows.

    A partition whose end at some time has been read counts as read up to that time; one that was never read, as read up
    to its first record's append_time.
    """

    read_through_ms: dict[int, int] = field(default_factory=dict)

    def after(self, next_offsets: Mapping[int, int], newest_append_ms: Mapping[int, int], ends: Ends | None) -> Reach:
        """The reach once everything before `next_offsets` has been read."""
        through = dict(self.read_through_ms)
        for partition, appended in newest_append_ms.items():
            through[partition] = max(through.get(partition, appended), appended)
        for partition in drained(next_offsets, ends):
            assert ends is not None
            through[partition] = max(through.get(partition, ends.at_ms), ends.at_ms)
        for partition, first in (ends.unread_from_ms if ends else {}).items():
            through.setdefault(partition, first)
        return Reach(through)

    def unknown(self, partitions: Sequence[int]) -> list[int]:
        """The partitions of which nothing is known."""
        return [p for p in partitions if p not in self.read_through_ms]

    def least_ms(self, partitions: Sequence[int]) -> int | None:
        """The append_time up to which all partitions have been read; None where that is not known."""
        known = [self.read_through_ms[p] for p in partitions if p in self.read_through_ms]
        return min(known) if known and len(known) == len(partitions) else None


def drained(next_offsets: Mapping[int, int], ends: Ends | None) -> list[int]:
    """The partitions of which nothing was unread when their ends were asked for."""
    known = {} if ends is None else {p: end for p, end in ends.offsets.items() if p not in ends.uncertain}
    return [p for p, offset in next_offsets.items() if p in known and offset >= known[p]]


def check_watermark(
    watermark_ms: int,
    newest_event_ms: int | None,
    delay_ms: int,
    reach: Reach,
    partitions: Sequence[int],
    lateness_ms: int,
) -> None:
    """Refuse a batch after which the watermark could pass a record that is still to be accepted.

    Raises WatermarkTooFast, ReachUnknown.
    """
    following = max(watermark_ms, newest_event_ms - delay_ms) if newest_event_ms is not None else watermark_ms
    least = reach.least_ms(partitions)
    if least is None:
        raise ReachUnknown(reach.unknown(partitions))
    if following >= least - lateness_ms:
        raise WatermarkTooFast(following, least - lateness_ms)


def base_delay_ms(settings: Mapping[str, int]) -> int:
    """The delay where all partitions advance together: allowed lateness, future bound, margin."""
    return settings["allowed_lateness_ms"] + settings["future_bound_ms"] + MARGIN_MS


def read_skew_ms(log: Log, start: Offsets) -> int:
    """How far apart in append_time the partitions are when read in proportion to their backlogs.

    Spark splits a batch by backlog, so after any part of the whole each partition has read that same part of its own.
    The skew is the widest span of append times over all parts, taken from the safe side between two samples. A
    partition that the log has not, or no more, has no backlog: that it is another log is for its witness to say.
    """
    ends = log.ends()
    backlog = {p: (first, ends[p]) for p, first in start.items() if ends.get(p, first) > first}
    oldest = {p: log.append_time(p, first) for p, (first, _) in backlog.items()}
    newest = {p: log.append_time(p, end - 1) for p, (_, end) in backlog.items()}
    times = [t for t in (*oldest.values(), *newest.values()) if t is not None]
    if not times:
        return 0
    step = max(1, (max(times) - min(times)) // SAMPLES)
    samples = [(at, log.offsets_at(at)) for at in range(min(times), max(times) + step + 1, step)]
    there = {p: span for p, span in backlog.items() if all(p in offsets for _, offsets in samples)}
    return widest_span_ms(there, samples)


def widest_span_ms(backlog: Mapping[int, tuple[int, int]], samples: Sequence[tuple[int, Offsets]]) -> int:
    """The widest span of append times at equal parts of each backlog; `samples`: (time, first offset from then on)."""
    times = [at for at, _ in samples]
    parts = {p: [_part(offsets[p], *backlog[p]) for _, offsets in samples] for p in backlog}
    edges = sorted({part for of_one in parts.values() for part in of_one})
    spans = [
        max(_not_after(times, of_one, high) for of_one in parts.values())
        - min(_not_before(times, of_one, low) for of_one in parts.values())
        for low, high in pairwise(edges)
    ]
    return max(spans, default=0)


def _part(offset: int, first: int, end: int) -> float:
    return min(1.0, max(0.0, (offset - first) / (end - first)))


def _not_after(times: Sequence[int], parts: Sequence[float], part: float) -> int:
    """The first sampled time by which `part` had been appended: the last record read is not newer."""
    return min((at for at, done in zip(times, parts, strict=True) if done >= part), default=times[-1])


def _not_before(times: Sequence[int], parts: Sequence[float], part: float) -> int:
    """The last sampled time by which no more than `part` had been appended: what is read beyond it is not older."""
    return max((at for at, done in zip(times, parts, strict=True) if done <= part), default=times[0])
