"""Which parts end and are started again so often that they do not work, though at most looks they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from stack.supervision import Process

MINUTES = 10
MOST = 3
"""Restarts within MINUTES from which on a part is told of."""
Starts = Mapping[str, tuple[float, ...]]
"""By process the last moments at which it was started, epoch seconds, the newest last: as many restarts as are counted,
and the start before them."""


def remembered(before: Starts, processes: Iterable[Process]) -> Starts:
    """The starts, with what a look saw: only what runs has been started. A stack that was started as a whole is
    counted anew: somebody did that."""
    now = {process.name: process.started.timestamp() for process in processes if process.runs}
    is_same = not now or any(start in before.get(name, ()) for name, start in now.items())
    starts = dict(before) if is_same else {}
    for name, start in now.items():
        known = starts.get(name, ())
        starts[name] = known if start in known else (*known, start)[-MOST - 1 :]
    return starts


def often_restarted(starts: Starts, at: float) -> Iterator[tuple[str, str, float]]:
    """Of each part that was started again at least MOST times in the last MINUTES its name, a sentence, and when the
    first of these restarts was (epoch seconds)."""
    for name, times in starts.items():
        if len(times) > MOST and at - MINUTES * 60 <= times[-MOST] <= at:
            what = f"process {name} ends again and again: it was started again {MOST} times or more in {MINUTES} min"
            yield name, what, times[-MOST]
