"""How far versions have come that a run lets catch up: the plan code's own judgement of what was seen since."""

from __future__ import annotations

from kappa.airflow_api import Run, Seen
from kappa.core.audit import Author, Entry
from kappa.platform import Platform
from kappa.verbs.drivers.launch import version_of
from kappa.verbs.promote.live_end import live_lag_seconds
from kappa.verbs.replay.catch_up import Pursuit, pursuit_of
from kappa.verbs.replay.progress import Progress, Reading, together

READINGS = 120
"""Rate and ETA are over the latest so many looks, some minutes."""
ENDS = ("caught_up", "refused", "failed")


class CatchUps:
    """Watches the versions that one run of a verb has launched, until they have caught up."""

    def __init__(self, platform: Platform, verb: str) -> None:
        self._platform, self._verb = platform, verb
        self._readings: dict[str, list[Reading]] = {}

    def look(self, run: Run, seen: Seen) -> str | None:
        """Records done, rate and ETA; nothing before the versions are launched and after they have caught up. Raises
        Unreachable."""
        pursuit = pursuit_of(self._platform, self._verb, Author("", run.run_id))
        if pursuit is None or any(self._ends(entry) for entry in self._platform.registry.entries(run.run_id)):
            return None
        return together(
            {job: self._progress(pursuit, job, version) for job, version in pursuit.versions.items()}
        ).sentence

    def _ends(self, entry: Entry) -> bool:
        return entry.action in {f"{self._verb}.{end}" for end in ENDS}

    def _progress(self, pursuit: Pursuit, job: str, number: int) -> Progress:
        """The run asks the log itself, too; here the driver's last word on it is enough."""
        state, standing = version_of(self._platform, job, number).state, self._platform.releases.standing(job, number)
        kept = self._readings.get(job, [])[1 - READINGS :]
        now = self._platform.registry.now()
        live = live_lag_seconds(self._platform, job, now, None)
        self._readings[job] = [*kept, Reading(now, state, standing, live_lag_seconds=live)]
        return pursuit.judge(job, self._readings[job])
