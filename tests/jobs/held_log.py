"""A log in memory, and the version that reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka.errors import KafkaConnectionError

from kappa.core.log.kafka_log import Appended, Identity, Offsets
from kappa.core.log.topic import MissingTopic, Topic
from kappa.core.versions import Desired, State, Version

VERSION = Version(
    "ad_ctr", 1, State.LIVE, Desired.RUNNING, "artifact", "state", "result", {}, "ad_events", "one", None, {0: 5, 1: 0}
)  # fmt: skip


@dataclass
class Held:
    """A log in memory: the first offsets, and append times (ms) from there on; it fails so often before it answers, and
    so often has no such topic."""

    first: Offsets = field(default_factory=lambda: {0: 0, 1: 0})
    times: Mapping[int, list[int]] = field(default_factory=lambda: {0: [100, 250, 300, 280], 1: []})
    now: Identity = field(default_factory=lambda: Identity("one", {0: 7, 1: 7}))
    failures: int = 0
    missing: int = 0
    looked: list[int] = field(default_factory=list)
    closed: int = 0

    def _reach(self) -> None:
        if self.failures:
            self.failures -= 1
            raise KafkaConnectionError("away")
        if self.missing:
            self.missing -= 1
            raise MissingTopic("ad_events", "nowhere")

    def identity(self) -> Identity:
        self._reach()
        return self.now

    def describe(self) -> Topic:
        self._reach()
        return Topic("ad_events", self.now.topic_id, tuple(self.times), "LogAppendTime")

    def earliest(self) -> Offsets:
        return self.first

    def ends(self) -> Offsets:
        self._reach()
        return {p: self.first[p] + len(self.times[p]) for p in self.first}

    def unsettled(self) -> frozenset[int]:
        return frozenset()

    def appended(self, partition: int, offset: int) -> Appended | None:
        self.looked.append(offset)
        return Appended(self.times[partition][offset - self.first[partition]], 9, offset)

    def close(self) -> None:
        self.closed += 1
