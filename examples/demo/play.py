"""What the demo plays: the real log where the oldest event times lie that still count, and gentle traffic beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile

from kappa.core.refusals import Refusal
from traffic.log import Log
from traffic.open_bandit import play_seconds
from traffic.play import Played, SystemClock, play
from traffic.shape import Fractions, Shape
from traffic.sources import Plan, plan_open_bandit, plan_synthetic

COMPRESS = 5_040
RATE = 50.0
"""Records/s of the traffic beside the log."""
REPEATED_CLICKS = 0.01
LASTS_SECONDS = 3_600
"""The traffic beside ends with the demo, or after this."""
MARGIN_MS = 60_000
"""The least by which an event lies inside the allowed lateness: if the stack stands still no longer, none is late."""
MINUTE_MS = 60_000
FINAL_AFTER_MS = MINUTE_MS
"""Beyond the allowed lateness, for clocks (contract, section 3, finality)."""
LAST_MS = 1_000
"""The last event lies at least so long before the end of its minute."""


class NotPlayed(Refusal):
    """A source of the demo did not come to its end."""

    def __init__(self, what: str, played: Played) -> None:
        super().__init__(
            f"{played.failed:,} records of {what} were not delivered (the first: {played.first_error}), so its numbers "
            "cannot be checked. What was delivered stays in the log. See './kappa status', then play it again: "
            "./kappa demo."
        )


@dataclass(frozen=True)
class Laid:
    """Where a play lies, in epoch ms: event_time of its first record, the end of its last minute, and when that minute
    is final by the clock."""

    start_ms: int
    end_ms: int
    final_ms: int

    @property
    def first_window_ms(self) -> int:
        """The first minute with records of it."""
        return self.start_ms // MINUTE_MS * MINUTE_MS

    def back_seconds(self, now_ms: int) -> float:
        """How far behind the clock its events happen, if it begins now."""
        return (now_ms - self.start_ms) / 1000


def lay(now_ms: int, lateness_ms: int, lasts_seconds: float) -> Laid:
    """A play from now on whose events lie MARGIN_MS to MARGIN_MS + 1 min inside the allowed lateness, and end with a
    full minute: so its minutes become final as soon as they can."""
    lasts_ms = round(lasts_seconds * 1000) + LAST_MS
    end_ms = -(-(now_ms - lateness_ms + MARGIN_MS + lasts_ms) // MINUTE_MS) * MINUTE_MS
    return Laid(end_ms - lasts_ms, end_ms, end_ms + lateness_ms + FINAL_AFTER_MS)


def log_laid(now_ms: int, lateness_ms: int) -> tuple[Laid, Plan]:
    """The Open Bandit log, laid so, to be played at once. Raises Refusal where it is not installed."""
    laid = lay(now_ms, lateness_ms, play_seconds(COMPRESS))
    return laid, plan_open_bandit(laid.start_ms, COMPRESS, None, False)


def gentle(start_ms: int, seed: int) -> Plan:
    """The traffic beside it, from this event_time on: other clients, and now and then a click that repeats one of the
    same half minute."""
    fractions = Fractions(repeated_clicks=REPEATED_CLICKS)
    count = int(RATE * LASTS_SECONDS)
    shape = Shape(seed, count, ads=40, clients=4, ctr=0.05, repeat_within_ms=30_000, fractions=fractions)
    return plan_synthetic(start_ms, shape, 0, RATE)


class Playing:
    """A plan that is being played, in a thread of its own."""

    def __init__(self, plan: Plan, open_log: Callable[[], Log], pool: ThreadPoolExecutor) -> None:
        self._stopped = threading.Event()
        self._played = pool.submit(self._play, plan, open_log)

    @property
    def ended(self) -> bool:
        """Whether its last record was delivered, or it was stopped, or has failed."""
        return self._played.done()

    def stop(self) -> None:
        """Send no more of it."""
        self._stopped.set()

    def result(self) -> Played:
        """What it did, once it has ended. Raises LogUnreachable, TopicMissing."""
        return self._played.result()

    def _play(self, plan: Plan, open_log: Callable[[], Log]) -> Played:
        going = takewhile(lambda _: not self._stopped.is_set(), plan.records)
        return play(going, open_log(), SystemClock(), plan.paced)


@contextmanager
def playing(what: str, plan: Plan, open_log: Callable[[], Log]) -> Iterator[Playing]:
    """Play beside what is done meanwhile; ended with it, whatever ends it. Raises NotPlayed, LogUnreachable,
    TopicMissing."""
    with ThreadPoolExecutor(1) as pool:
        source = Playing(plan, open_log, pool)
        try:
            yield source
        finally:
            source.stop()
        if (played := source.result()).failed:
            raise NotPlayed(what, played)
