"""How the versions of the fake registry do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kappa.core.versions import OVER, Desired, Health, State
from tests.plugins.fake_changes import FakeChanges
from tests.plugins.fake_memory import NOON, Key

SILENT, HELD, STALLED = timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=2)


@dataclass
class FakeHealth(FakeChanges):
    """What repairs rest on, in memory: `lags` holds events and seconds, `batch_ms` the last batch's duration."""

    lags: dict[Key, tuple[int, float]] = field(default_factory=dict)
    batch_ms: dict[Key, int] = field(default_factory=dict)

    def health(self, job: str, version: int) -> Health:
        self.known(job, version)
        key, beat = (job, version), self.beats.get((job, version))
        events, seconds = self.lags.get(key, (0, 0.0))
        away = max(self._times("repair.log_away", *key), default=None)
        back = self._times("repair.log_back", *key)
        return Health(
            beat_seconds=self.seconds_since(beat.beat_at if beat else None),
            commit_seconds=self.seconds_since(beat.committed_at if beat else None),
            lag_events=events,
            lag_seconds=seconds,
            batch_ms=self.batch_ms.get(key),
            red=tuple(self._red(job, version)),
            repairs=tuple(
                at
                for at, entry in self.audit
                if (entry.action, entry.job, entry.version) == ("repair.restarted", job, version)
                and at > self.clock.now() - timedelta(hours=1)
            ),
            log_away_at=away,
            log_back_at=min((at for at in back if away and at > away), default=None),
        )

    def now(self) -> datetime:
        return self.clock.now()

    def _times(self, action: str, job: str, version: int) -> list[datetime]:
        return [at for at, entry in self.audit if (entry.action, entry.job, entry.version) == (action, job, version)]

    def give_up(self, job: str, version: int, why: str) -> None:
        self.known(job, version)
        self.alter(job, version, state=State.FAILED)
        others = [line for line in self.lines.get((job, version), []) if not line.startswith("failed:")]
        self.lines[job, version] = [*others, f"failed: {why}"]

    def _red(self, job: str, version: int) -> Iterator[str]:
        """The lines of the view ops.red_lines."""
        held, lines = self.held[job, version], self.lines.get((job, version), [])
        newest = max(number for name, number in self.held if name == job)
        current = version == newest or version in {s.version for s in self.served.get(job, [])}
        yield from lines if current else []
        if current and held.state is State.FAILED and not any(line.startswith("failed:") for line in lines):
            yield "failed: the driver was restarted too often and gave up"
        wanted = held.desired is Desired.RUNNING and held.state not in OVER
        if wanted and self._still(job, version) > SILENT:
            yield "silent: wanted running, but no heartbeat for 30 s"
        yield from self._kept_stopped(job, version)
        if wanted and self._stalls(job, version):
            yield "stalled: wanted running, records wait, and nothing was committed for 2 min"

    def _kept_stopped(self, job: str, version: int) -> Iterator[str]:
        held, change = self.held[job, version], self.open_change(job, version)
        if not change or (change.desired, held.desired) != (Desired.RUNNING, Desired.STOPPED) or held.state in OVER:
            return
        beat = self.beats.get((job, version))
        if self.clock.now() - (beat.beat_at if beat else self.begun[change.change_id]) > HELD:
            yield (
                f"held: wanted running, but held by a {change.verb}, run {change.run_id}, and no heartbeat for 2 min"
            )

    def _stalls(self, job: str, version: int) -> bool:
        beat, launch = self.beats.get((job, version)), self.open_launch(job, version)
        if not beat or self.clock.now() - beat.beat_at > SILENT:
            return False
        worked = [self.updated[job, version], beat.committed_at, launch and launch.intended_at]
        events, seconds = self.lags.get((job, version), (0, 0.0))
        waits = events > 0 and seconds > STALLED.total_seconds()
        return waits and self.clock.now() - max(at for at in worked if at) > STALLED

    def _still(self, job: str, version: int) -> timedelta:
        """How long nothing was heard of a version and nothing was asked of it."""
        beat = self.beats.get((job, version))
        moments = [self.updated.get((job, version), NOON), *([beat.beat_at] if beat else [])]
        return self.clock.now() - max(moments)
