"""Who is told when something is wrong, and what may wait until the morning."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kappa.core.installation import day_span
from kappa.core.refusals import Refusal

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


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
        if self.quiet and day_span.parse(self.quiet) is None:
            raise WrongAlerts("quiet", self.quiet, 'must be a span of the day like "22:00-07:00"')
        self._zone()

    def quiet_until(self, at: datetime) -> datetime | None:
        """When the quiet span ends that this moment is in; None outside of one. Raises WrongAlerts."""
        span, here = day_span.parse(self.quiet), at.astimezone(self._zone())
        if span is None or here.time() not in span:
            return None
        ends_tomorrow = span.begins > span.ends and here.time() >= span.begins
        day = here.date() + timedelta(days=1 if ends_tomorrow else 0)
        return datetime.combine(day, span.ends, here.tzinfo).astimezone(UTC)

    def _zone(self) -> ZoneInfo:
        try:
            return ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise WrongAlerts("time_zone", self.time_zone, "must be a zone like Europe/Berlin") from error
