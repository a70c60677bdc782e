"""The right of one run to act on one version of a job, until it is given back or its time is over."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

LIVE_END = 0
"""The version number under which a job's live end is leased, for a hand-over only."""


@dataclass(frozen=True)
class Lease:
    """A lease: on what, who holds it, for which verb and why, and its end."""

    job: str
    version: int
    run_id: str
    verb: str
    actor: str
    reason: str | None
    taken_at: datetime
    ends_at: datetime

    def sentence(self) -> str:
        """The holder in words, with the day: a replay holds for days."""
        why = f" ({self.reason})" if self.reason else ""
        until = self.ends_at.strftime("%Y-%m-%d %H:%M UTC")
        what = f"{self.job} v{self.version} is held by a {self.verb} of {self.actor}{why}"
        return f"{what}, run {self.run_id}, until {until}"
