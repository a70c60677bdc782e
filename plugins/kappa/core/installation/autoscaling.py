"""Whether, when and within which bounds Airflow may carry out the advice on a job's size by itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from kappa.core.installation import day_span
from kappa.core.refusals import Refusal


class WrongAutoscaling(Refusal):
    """A setting of `[autoscaling]` has a value that means nothing."""

    def __init__(self, setting: str, value: object, rule: str) -> None:
        super().__init__(f"autoscaling.{setting} is {value!r}, but {rule}. Correct it in kappa.toml.")


@dataclass(frozen=True)
class Autoscaling:
    """The policy; off by default. `hours` is a span of the day in UTC like "06:00-20:00", empty: all of it. A job is
    rescaled at most once within `cool_down_minutes`. The bounds (both included) are of executors, of the cores of each,
    and of state partitions, which are never made fewer."""

    enabled: bool = False
    hours: str = ""
    cool_down_minutes: int = 60
    least_cores: int = 1
    most_cores: int = 4
    least_executors: int = 0
    most_executors: int = 4
    most_partitions: int = 16

    def check(self) -> None:
        """Raises WrongAutoscaling."""
        if self.hours and day_span.parse(self.hours) is None:
            raise WrongAutoscaling("hours", self.hours, 'must be a span of the day like "06:00-20:00"')
        if self.cool_down_minutes < 10:
            raise WrongAutoscaling("cool_down_minutes", self.cool_down_minutes, "must be 10 at least")
        for least, most in (("least_cores", "most_cores"), ("least_executors", "most_executors")):
            if not 0 <= getattr(self, least) <= getattr(self, most):
                raise WrongAutoscaling(least, getattr(self, least), f"must lie between 0 and {most}")

    def is_open(self, at: datetime) -> bool:
        """Whether a moment is within the hours."""
        span = day_span.parse(self.hours)
        return span is None or at.astimezone(UTC).time() in span
