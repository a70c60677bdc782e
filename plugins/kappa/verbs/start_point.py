"""Where a version starts to read: the exactness rule of the architecture, section 4, over what the log still holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from kappa.core.job_catalog import MINUTE_MS
from kappa.core.log.kafka_log import Offsets
from kappa.core.refusals import Refusal
from kappa.core.requests.lifecycle import EARLIEST as EARLIEST
from kappa.core.requests.lifecycle import LATEST
from kappa.core.serialization import Serializable


class StartNotFinal(Refusal):
    """Windows before T could still change in the live version, which would keep serving them."""

    def __init__(self, starts_ms: int, job: str, largest_ms: int | None) -> None:
        known = f"the largest T is {utc(largest_ms)}" if largest_ms is not None else "no window of it is final yet"
        remedy = f"--from {utc(largest_ms)}, or an earlier time" if largest_ms is not None else "--from earliest"
        super().__init__(
            f"a replay from T={utc(starts_ms)} leaves the windows before T to the live version of {job}, so these must "
            f"be final, and {known}. Nothing was staged. Start earlier ({remedy}), or wait until the live version "
            f"has come further."
        )


class NoExactStart(Refusal):
    """What the log still holds begins after the last window that is final."""

    def __init__(self, smallest_ms: int, job: str, largest_ms: int | None) -> None:
        known = f"final up to {utc(largest_ms)} only" if largest_ms is not None else "not final anywhere yet"
        super().__init__(
            f"the smallest exact start is {utc(smallest_ms)}, before which the log begins too late, and the live "
            f"{job} is {known}: no T fits both. Nothing was staged. Wait until the live version has read past "
            f"{utc(smallest_ms)} ('./kappa status --job {job}'), then ask again."
        )


class InvalidStart(Refusal):
    """The start is neither a word nor a time that can be one."""

    def __init__(self, asked: str, problem: str) -> None:
        super().__init__(
            f"start '{asked}' {problem}. Give earliest, latest, or a full minute with its zone, like 2026-01-31T09:30Z."
        )


class LogTooShort(Refusal):
    """The log no longer reaches back to what an exact start at that time needs."""

    def __init__(self, starts_ms: int, needed_ms: int, smallest_ms: int, partition: int) -> None:
        super().__init__(
            f"a start at {utc(starts_ms)} needs the log from {utc(needed_ms)} on, but partition "
            f"{partition} begins later. "
            f"The smallest exact start is {utc(smallest_ms)}; 'earliest' means that."
        )


@dataclass(frozen=True)
class LogHead:
    """How the log begins: per partition its first offset and the append_time (ms) of the first record,
    None if empty."""

    first_offsets: Offsets
    first_appended: Mapping[int, int | None]


@dataclass(frozen=True)
class StartPoint(Serializable):
    """Where a version starts: first offset per partition, and T, before which a record is `before_start`.

    `starts_ms` is None for a version that starts with the log. `first_appended`: see Version.
    """

    asked: str
    starts_ms: int | None
    offsets: Offsets
    first_appended: Mapping[int, int] = field(default_factory=dict)

    @property
    def starts_at(self) -> datetime | None:
        """T as a time."""
        return None if self.starts_ms is None else datetime.fromtimestamp(self.starts_ms / 1000, UTC)

    def sentence(self) -> str:
        """The start in words."""
        return "with the log" if self.starts_ms is None else f"at {utc(self.starts_ms)}"


def start_ms(asked: str, head: LogHead, now_ms: int, future_bound_ms: int) -> int | None:
    """T in ms for what was asked: an edge from which every record of every window is still in the log.

    None means: starts with the log. Raises InvalidStart, LogTooShort.
    """
    smallest = smallest_exact_ms(head, now_ms, future_bound_ms)
    if asked == EARLIEST:
        return smallest
    if asked == LATEST:
        return max(next_edge_ms(now_ms), smallest or 0)
    starts = _parsed_ms(asked)
    if starts > next_edge_ms(now_ms):
        raise InvalidStart(asked, f"lies in the future (it is {utc(now_ms)})")
    if smallest is not None and starts < smallest:
        partition, _ = _latest_beginning(head, now_ms)
        raise LogTooShort(starts, starts - future_bound_ms, smallest, partition)
    return starts


def replay_start_ms(
    asked: str, window_ms: int, head: LogHead, now_ms: int, future_bound_ms: int, final: Mapping[str, int | None]
) -> int | None:
    """T (ms) of a replay of jobs whose windows have a common edge every `window_ms`; None: with the log.

    `final` is up to when (ms) each job's live version is final: it goes on serving what lies before T. Raises
    InvalidStart, LogTooShort, StartNotFinal, NoExactStart.
    """
    starts = start_ms(asked, head, now_ms, future_bound_ms)
    if starts is None:
        return None
    if asked == EARLIEST:
        starts = -(-starts // window_ms) * window_ms
    elif starts % window_ms:
        raise InvalidStart(asked, f"is not an edge of the jobs' windows of {window_ms} ms")
    job, through = min(final.items(), key=lambda item: -math.inf if item[1] is None else item[1])
    largest = None if through is None else through // window_ms * window_ms
    if largest is None or starts > largest:
        raise (NoExactStart if asked == EARLIEST else StartNotFinal)(starts, job, largest)
    return starts


def smallest_exact_ms(head: LogHead, now_ms: int, future_bound_ms: int) -> int | None:
    """The smallest exact T; None when every partition's log begins at offset 0, so that nothing is
    missing."""
    if not any(head.first_offsets.values()):
        return None
    return next_edge_ms(_latest_beginning(head, now_ms)[1] + future_bound_ms)


def _latest_beginning(head: LogHead, now_ms: int) -> tuple[int, int]:
    """The cut partition that begins last, and when; one that was cut and is empty begins now at the
    latest."""
    begins = {
        partition: now_ms if head.first_appended[partition] is None else int(head.first_appended[partition] or 0)
        for partition, offset in head.first_offsets.items()
        if offset > 0
    }
    return max(begins.items(), key=lambda item: item[1])


def next_edge_ms(instant_ms: int) -> int:
    """The first window edge at or after an instant."""
    return -(-instant_ms // MINUTE_MS) * MINUTE_MS


def _parsed_ms(asked: str) -> int:
    try:
        parsed = datetime.fromisoformat(asked)
    except ValueError as error:
        raise InvalidStart(asked, "is not a time") from error
    if parsed.tzinfo is None:
        raise InvalidStart(asked, "names no time zone")
    instant_ms = round(parsed.timestamp() * 1000)
    if instant_ms < 0:
        raise InvalidStart(asked, "lies before 1970-01-01T00:00Z, and no event does")
    if instant_ms % MINUTE_MS:
        raise InvalidStart(asked, "is not the edge of a window")
    return instant_ms


def utc(instant_ms: int) -> str:
    """An instant for people."""
    return datetime.fromtimestamp(instant_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
