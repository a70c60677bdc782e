"""What was seen of a version, a line for each minute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby


@dataclass(frozen=True)
class Sample:
    """A version at one time: seconds since the first sample, age of the heartbeat (s), the epoch that every start
    raises, unread records and their age, the newest minute that is served, records counted since the beginning, red
    lines, and restarts by `repair_stream`."""

    at_s: float
    state: str
    desired: str
    artifact: str
    beat_s: float | None
    epoch: int | None
    lag_events: int | None
    lag_s: float | None
    newest: datetime | None
    counted: int | None
    red: Sequence[str] = ()
    repairs: int = 0


@dataclass(frozen=True)
class Minute:
    """A minute: states and artifacts as they followed each other, the oldest heartbeat, starts and repairs within it,
    and what was unread, served and counted at its end."""

    minute: int
    states: str
    artifacts: str
    beat_s: float | None
    starts: int
    repairs: int
    lag_events: int | None
    lag_s: float | None
    newest: str
    counted: int
    red: str


def by_minute(samples: Sequence[Sample]) -> list[Minute]:
    """A line for each minute in which something was seen, the first one 0."""
    lines: list[Minute] = []
    before = samples[0] if samples else None
    for number, group in groupby(samples, key=lambda sample: int(sample.at_s // 60)):
        seen = list(group)
        assert before is not None
        lines.append(_line(number, before, seen))
        before = seen[-1]
    return lines


def _line(number: int, before: Sample, seen: Sequence[Sample]) -> Minute:
    last = seen[-1]
    beats = [sample.beat_s for sample in seen if sample.beat_s is not None]
    red = list(dict.fromkeys(what for sample in seen for what in sample.red))
    return Minute(
        minute=number,
        states=" -> ".join(dict.fromkeys(sample.state for sample in seen)),
        artifacts=" -> ".join(dict.fromkeys(sample.artifact for sample in seen)),
        beat_s=round(max(beats), 1) if beats else None,
        starts=(last.epoch or 0) - (before.epoch or 0),
        repairs=last.repairs - before.repairs,
        lag_events=last.lag_events,
        lag_s=None if last.lag_s is None else round(last.lag_s, 1),
        newest="" if last.newest is None else f"{last.newest:%H:%M}",
        counted=(last.counted or 0) - (before.counted or 0),
        red=", ".join(red),
    )
