"""What ended a query, in one sentence: the exception at the root, and which records the batch held that failed."""

from __future__ import annotations

import re

from kappa.core.log.kafka_log import Offsets

MOST_CAUSE, MOST = 300, 700
_TRACEBACK = "Traceback (most recent call last):"
_WRAPPED = ("=== Streaming Query ===", "SQLSTATE:")
_LAST_WORD = re.compile(r"terminated with exception: |Caused by: ")


def of(error: BaseException) -> str:
    """The root of an exception: its type and what it says, out of the wrappers of Spark, Py4J and Python's workers.

    Cut at its end: what matters stands first.
    """
    while error.__cause__ is not None:
        error = error.__cause__
    text = str(error)
    for wrapping in _WRAPPED:
        text = text.split(wrapping, 1)[0]
    if _TRACEBACK in text:
        return _cut(_raised(text.rsplit(_TRACEBACK, 1)[1]), MOST_CAUSE)
    said = _first_line(_LAST_WORD.split(text)[-1])
    return _cut(said if _LAST_WORD.search(text) else f"{type(error).__name__}: {said}", MOST_CAUSE)


def sentence(cause: str, failures: int, batch_id: int | None, topic: str, start: Offsets, end: Offsets) -> str:
    """The cause first, then where: the offsets, first to last, of the batch that was planned and not committed."""
    ranges = [f"partition {p} offsets {start[p]} to {end[p] - 1}" for p in sorted(end) if end[p] > start.get(p, end[p])]
    where = f"batch {batch_id} of topic {topic}: {', '.join(ranges)}; " if ranges else ""
    times = "once" if failures == 1 else f"{failures} times in a row"
    return _cut(f"{cause} - {where}the query ended {times} without a commit", MOST)


def _raised(traceback: str) -> str:
    """The line after a traceback's frames, which are indented."""
    frames = traceback.splitlines()
    return next((line.strip() for line in frames if line and not line[0].isspace()), _first_line(traceback))


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
