"""Who is told when something is wrong, and what may wait until the morning."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kappa.core.refusals import Refusal

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
SPAN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


class WrongAlerts(Refusal):
    """A setting of `[alerts]` has a value that means nothing."""

    def __init__(self, setting: str, value: object, rule: str) -> None:
        super().__init__(f"alerts.{setting} is {value!r}, but {rule}. Correct it in kappa.toml.")


@dataclass(frozen=True)
class Alerts:
    """Who is told: each of `targets` is a name, whose address stands in the file `alert_NAME.url` of the secrets
    folder. In the `quiet` span of each day, by the clock of `time_zone`, only what cannot wait is told. `disk_free_mb`:
    less than that is an incident."""

    targets: tuple[str, ...] = ()
    quiet: str = ""
    time_zone: str = "UTC"
    disk_free_mb: int = 5_000
    allow_plain: bool = False

    def check(self) -> None:
        """Raises WrongAlerts."""
        for name in self.targets:
            if not NAME.fullmatch(name):
                raise WrongAlerts("targets", name, "a target's name is 1 to 32 of a-z 0-9 _ -, as its file is named")
        if self.quiet and not SPAN.fullmatch(self.quiet):
            raise WrongAlerts("quiet", self.quiet, 'must be a span of the day like "22:00-07:00"')
        self._zone()

    def quiet_until(self, at: datetime) -> datetime | None:
        """When the quiet span ends that this moment is in; None outside of one. Raises WrongAlerts."""
        found = SPAN.fullmatch(self.quiet)
        if found is None:
            return None
        hours = [int(part) for part in found.groups()]
        begins, ends = time(hours[0], hours[1]), time(hours[2], hours[3])
        here = at.astimezone(self._zone())
        now = here.time()
        if not (begins <= now < ends if begins <= ends else now >= begins or now < ends):
            return None
        day = here.date() + timedelta(days=1 if begins > ends and now >= begins else 0)
        return datetime.combine(day, ends, here.tzinfo).astimezone(UTC)

    def _zone(self) -> ZoneInfo:
        try:
            return ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise WrongAlerts("time_zone", self.time_zone, "must be a zone like Europe/Berlin") from error
