"""The port to replays and releases: candidates staged together, how far they are, the hand-over, pins, retirement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from kappa.core.audit import Author
from kappa.core.replays import Answer, Freed, HandOver, Release, Replay, Standing, Weighed
from kappa.core.versions import Version


class Releases(Protocol):
    """Replays and releases. Every act is one transaction but `retire`, and doing it twice is the same as once."""

    def stage_candidates(self, versions: Sequence[Version], replay: Replay, by: Author) -> Replay:
        """Make the candidates and the replay; what the same run made before, if it did. Raises StagedByAnother."""

    def replay(self, replay_id: UUID) -> Replay:
        """A replay as it is now. Raises UnknownReplay."""

    def replay_of_run(self, run_id: str) -> Replay | None:
        """The replay that a run made, if it made one."""

    def replay_of_versions(self, versions: Mapping[str, int]) -> Replay | None:
        """The newest replay whose candidates these versions (by job) were, if there was one."""

    def replay_ended_at(self, job: str, version: int) -> datetime | None:
        """When the newest replay ended whose candidate the version was; None while it is open, or without one."""

    def open_replays(self) -> list[Replay]:
        """The replays that have not ended, the oldest first."""

    def note_validation(self, replay_id: UUID, result: Mapping[str, Any]) -> Replay:
        """Keep the newest result of the validation, unless the replay has been answered or has ended; the replay."""

    def note_answer(self, replay_id: UUID, answer: Answer, by: Author) -> Replay:
        """Keep who answered what; the first answer counts, none after the end. The replay as it is now."""

    def end_replay(self, replay_id: UUID, outcome: str) -> Replay:
        """End the replay; the first outcome counts. The replay as it is now."""

    def standing(self, job: str, version: int) -> Standing:
        """How far a version is, by what it committed. Raises UnknownVersion."""

    def weighed(self, job: str, version: int) -> Weighed:
        """What a version weighs and how fast its job was seen to read. Raises UnknownVersion."""

    def hand_over(self, plan: HandOver, by: Author, seconds: float = 15.0) -> Release:
        """Move the segments once the targets have read what the live versions have; the run's release if it did so.

        Raises SegmentsChanged, NotCaughtUp, HeldUp, NotFit, BrokenSegments: nothing was moved then.
        """

    def releases(self, job: str | None = None) -> list[Release]:
        """The releases, of one job or of all, the oldest first."""

    def previous_since(self, job: str, version: int) -> datetime | None:
        """When a version that is PREVIOUS became so; None for any other."""

    def pin(self, job: str, version: int, by: Author) -> None:
        """Keep a version from being retired. Raises UnknownVersion, AlreadyRetired."""

    def unpin(self, job: str, version: int, by: Author) -> None:
        """Take the pin away, if there is one."""

    def pins(self) -> set[tuple[str, int]]:
        """The pinned versions, as (job, version)."""

    def retire(self, job: str, version: int, by: Author) -> Freed:
        """State RETIRED, then the rows go without a reader waiting; what was freed.

        Raises UnknownVersion, StillServes, Pinned, IllegalTransition: nothing was changed then; RowsInUse: to be
        called again.
        """

    def unfreed(self) -> set[tuple[str, int]]:
        """Versions that are RETIRED and still have their rows, as (job, version): their retirement was cut short."""
