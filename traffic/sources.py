"""From a source's name and options to a plan: which records, how many, and whether each has its time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kappa.core.refusals import Refusal
from traffic import files, open_bandit, synthetic
from traffic.files import OnBad
from traffic.mapping import Columns
from traffic.play import at_rate
from traffic.records import Record
from traffic.shape import Axis, Shape

OPEN_BANDIT_RECORDS = 60_287
_MOST_SPAN_S = 6_900.0
"""Traffic that is sent at once may not reach back to the allowed lateness of two hours."""
_UNITS = {"s": 1, "m": 60, "h": 3_600}


class BadDuration(Refusal):
    """A span of time cannot be read."""

    def __init__(self, text: str) -> None:
        super().__init__(f"'{text}' is no span of time; write it as 90s, 110m or 2h.")


class SpanTooLong(Refusal):
    """Events sent at once would be late already when they are appended."""

    def __init__(self, option: str, seconds: float) -> None:
        super().__init__(
            f"{option}: the events would span {seconds:.0f} s; sent at once, those older than two "
            f"hours are late. Stay below {_MOST_SPAN_S:.0f} s, or send at a rate."
        )


@dataclass(frozen=True)
class Plan:
    """What to play: the records, how many there are (None: unknown), whether each is sent at its due time."""

    records: Iterable[Record]
    total: int | None
    paced: bool


def seconds_of(text: str) -> float:
    """`90s`, `110m`, `2h` as seconds. Raises BadDuration."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smh])", text)
    if not found:
        raise BadDuration(text)
    return float(found[1]) * _UNITS[found[2]]


def plan_open_bandit(now_ms: int, compress: int, rate: float | None, full_speed: bool) -> Plan:
    """The Open Bandit log from now on; with a rate the compression that gives it on average; at full speed
    ending now.

    Raises SpanTooLong, Refusal (the log is not installed).
    """
    if rate is not None:
        compress = max(1, round(rate * open_bandit.SPAN_SECONDS / OPEN_BANDIT_RECORDS))
    lasts = open_bandit.play_seconds(compress)
    if full_speed and lasts > _MOST_SPAN_S:
        raise SpanTooLong(f"--compress {compress}", lasts)
    start = now_ms - round(lasts * 1000) if full_speed else now_ms
    return Plan(open_bandit.records(start, compress), OPEN_BANDIT_RECORDS, not full_speed)


def plan_synthetic(now_ms: int, shape: Shape, span: float, rate: float | None) -> Plan:
    """Synthetic traffic: live at a rate, else at full speed with event times over the last `span` seconds.

    Raises SpanTooLong.
    """
    if rate is not None:
        return Plan(synthetic.records(shape, Axis(now_ms, 1000 / rate, live=True)), shape.records, paced=True)
    if span > _MOST_SPAN_S:
        raise SpanTooLong("--span", span)
    axis = Axis(now_ms - round(span * 1000), span * 1000 / shape.records, live=False)
    return Plan(synthetic.records(shape, axis), shape.records, paced=False)


def plan_file(file: Path, columns: Columns, rate: float | None, as_is: bool, on_bad: OnBad) -> Plan:
    """A file's rows at a rate, else at full speed. Raises UnreadableSource, BadMapping."""
    records = files.records(file, columns, as_is, on_bad)
    return Plan(records if rate is None else at_rate(records, rate), None, paced=rate is not None)
