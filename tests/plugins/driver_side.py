"""What the drivers of the fake cluster need of a registry, be it the fake one or the one in Postgres."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from kappa.core.changes import Change, Mark
from kappa.core.versions import Desired
from tests.plugins.fake_memory import FakeClock


class DriverSide(Protocol):
    """What the drivers of a fake cluster ask and tell the registry."""

    @property
    def clock(self) -> FakeClock:
        """The time that passes for them."""

    def change(self, change_id: UUID) -> Change:
        """A change as it is now."""

    def mark(self, change_id: UUID, mark: Mark) -> None:
        """Keep the time of a moment of a change."""

    def is_intended(self, launch_id: UUID) -> bool:
        """Whether there is a launch of that id."""

    def claim(self, launch_id: UUID, submission_id: str) -> bool:
        """What a driver does first: whether it holds the launch."""

    def wanted(self, job: str, version: int) -> Desired:
        """What the registry wants of the version."""

    def leave(self, launch_id: UUID, submission_id: str) -> None:
        """The driver ends for good, and with it its launch."""

    def beat(self, job: str, version: int, submission_id: str, epoch: int, commits: bool) -> None:
        """The driver beats; it has committed a batch just now, or none."""
