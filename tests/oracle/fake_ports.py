"""The oracle's ports in memory: a log and a database that hold what they are given, and a clock that does not wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from oracle.decode import LogRecord
from oracle.explain import Number, Part
from oracle.lineage import Batch, Behind, Moment
from oracle.served import Snapshot


class FakeClock:
    """Time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds


@dataclass
class FakeTopic:
    """A log by partition; retention has removed what lies before `firsts`."""

    logs: Mapping[int, Sequence[LogRecord]]
    firsts: Mapping[int, int]

    def bounds(self) -> dict[int, tuple[int, int]]:
        return {p: (self.firsts.get(p, 0), log[-1].offset + 1 if log else 0) for p, log in self.logs.items()}

    def records(self, ends: Mapping[int, int]) -> Iterator[LogRecord]:
        for partition, end in ends.items():
            for record in self.logs.get(partition, ()):
                if self.firsts.get(partition, 0) <= record.offset < end:
                    yield record

    def since(self, append_ms: int) -> dict[int, int]:
        return {p: min(self._from(p, append_ms), default=end) for p, (_, end) in self.bounds().items()}

    def _from(self, partition: int, append_ms: int) -> Iterator[int]:
        """The offsets that are there of what was appended then or later."""
        first = self.firsts.get(partition, 0)
        return (r.offset for r in self.logs[partition] if r.append_time >= append_ms and r.offset >= first)

    def stretch(self, starts: Mapping[int, int], ends: Mapping[int, int], until_ms: int) -> Iterator[LogRecord]:
        for partition, end in ends.items():
            wanted = (r for r in self.logs[partition] if starts[partition] <= r.offset < end)
            yield from takewhile(lambda record: not record.stamped or record.append_time < until_ms, wanted)


class FakeDatabase:
    """Answers from one snapshot."""

    def __init__(self, held: Snapshot) -> None:
        self.held = held

    def progress(self) -> dict[str, dict[int, int]]:
        return {served.job: dict(served.live.end) for served in self.held.jobs}

    def snapshot(self, jobs: frozenset[str] | None) -> Snapshot:
        return replace(self.held, jobs=tuple(each for each in self.held.jobs if jobs is None or each.job in jobs))


class FakeRegistry:
    """One number, who serves it and their batches; `asked` are the questions for batches."""

    def __init__(self, served: Mapping[str, Any] | None, parts: Sequence[Part], batches: Sequence[Batch]) -> None:
        self.served, self.parts, self.made = served, parts, batches
        self.asked: list[tuple[int, Mapping[int, tuple[int, int]]]] = []

    def moment(self, number: Number) -> Moment:
        return Moment(self.served, tuple(Behind(part, {"topic": "ads"}, None) for part in self.parts))

    def batches(self, job: str, version: int, within: Mapping[int, tuple[int, int]]) -> Sequence[Batch]:
        self.asked.append((version, within))
        theirs = self.made if version in {part.version for part in self.parts} else ()
        return [batch for batch in theirs if any(_reads(batch, p, *offsets) for p, offsets in within.items())]


def _reads(batch: Batch, partition: int, first: int, last: int) -> bool:
    """Whether it read anything of these offsets of a partition."""
    start, end = batch.offsets.get(partition, (0, 0))
    return max(start, first) < min(end, last + 1)
