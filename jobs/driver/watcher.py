"""What a driver does beside its query: it beats, follows the ends of the log and the lag, keeps its rank, and cuts its
output."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from kafka.errors import KafkaError

from jobs.driver import batch_sizing, root_cause, watermark
from jobs.driver.cpu_priority import Priority, Standstill, rank_of
from jobs.driver.heartbeat import Beat, Heartbeats
from jobs.driver.log_identity import once_there
from jobs.driver.registry import DriverRegistry
from jobs.driver.watermark import Ends
from jobs.sinks.batch_sink import Committed
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.program_output import OwnOutput
from kappa.core.installation.settings import Settings
from kappa.core.log.kafka_log import Identity, KafkaLog, Log, Offsets
from kappa.core.log.topic import MissingTopic
from kappa.core.versions import Desired, State, Version

logger = logging.getLogger("kappa.watcher")
LOOK_SECONDS = 1.0
RED_AFTER_ROUNDS = 3


class Watcher:
    """Looks once a second by connections of its own; survives the absence of Postgres and of the broker. `heartbeats`
    are the driver's, `ends` the newest known ends of the log."""

    def __init__(
        self,
        settings: Settings,
        version: Version,
        beat: Beat,
        committed: Callable[[], Committed],
        uncommitted: Callable[[], str],
    ) -> None:
        self._settings, self._version, self._first = settings, version, beat
        self._committed, self._uncommitted = committed, uncommitted
        self._registry: DriverRegistry | None = None
        self._log: KafkaLog | None = None
        self._stop = threading.Event()
        self._topic_trouble: str | None = None
        self._trouble, self._broken = "", 0
        self._shown: dict[str, str] = {}
        self._output = OwnOutput(Path.cwd())
        self._priority = Priority(beat.jvm_pid) if beat.jvm_pid is not None else None
        self._standstill = Standstill(time.monotonic())
        connect = partial(DriverRegistry, settings, version.job, version.version, beat.epoch)
        self.heartbeats = Heartbeats(connect, self._beat, beat.epoch, version.desired, version.state)
        self.ends: Ends | None = None
        self.delay_ms: int | None = None
        self.state: tuple[int, int] | None = None
        self._thread = threading.Thread(target=self._loop, name="watcher", daemon=True)

    @property
    def is_wanted(self) -> bool:
        """Whether this driver is to go on."""
        return self.heartbeats.desired is Desired.RUNNING and not self.heartbeats.taken_over

    def start(self) -> None:
        """Begin to beat and to look."""
        self.heartbeats.start()
        self._thread.start()

    def stop(self) -> None:
        """Look and beat a last time, and end."""
        self._stop.set()
        self._thread.join(timeout=20)
        self.heartbeats.stop()

    def fresh_ends(self, unread: Offsets) -> Ends:
        """The ends of the log as of now, by connections of the caller's own; `unread` as `fresh_ends` has it."""
        return fresh_ends(self._settings, self._version, self._first.epoch, unread)

    def _loop(self) -> None:
        while not self._stop.is_set():
            self.look()
            self._stop.wait(LOOK_SECONDS)
        self.look()
        self._leave_registry()
        self._leave_log()

    def look(self) -> None:
        """One round; what is away is connected again in the next one, and nothing ends the rounds."""
        self._output.look(time.monotonic())
        try:
            self._round()
            self._broken = 0
        except psycopg.Error as error:
            logger.warning("postgres does not answer the watcher: %s", str(error).splitlines()[:1])
            self._leave_registry()
        except MissingTopic as missing:
            logger.error("%s", missing)
            self._topic_trouble = str(missing)
        except (KafkaError, OSError) as error:
            logger.warning("the broker does not answer: %r", error)
            self._leave_log()
        except Exception as error:
            logger.exception("a round of the watcher failed")
            self._leave_registry()
            self._leave_log()
            self._broken += 1
            self._trouble = root_cause.of(error)

    def _leave_registry(self) -> None:
        if self._registry is not None:
            with suppress(psycopg.Error):
                self._registry.close()
        self._registry = None

    def _leave_log(self) -> None:
        """A client of the broker that is only let go asks for it for ever, on a thread of its own."""
        if self._log is not None:
            with suppress(KafkaError, OSError):
                self._log.close()
        self._log = None

    def _round(self) -> None:
        if self._registry is None:
            self._registry = DriverRegistry(self._settings, self._version.job, self._version.version, self._first.epoch)
        self._tell(self._registry)
        if self._log is None:
            self._log = KafkaLog(self._settings.kafka_access(KafkaUser.STREAM), self._version.topic)
        # What was read is looked up first, so it cannot lie beyond the ends; where it does, the log has lost its end.
        read = self._committed().next_offsets
        self.ends = _ends(self._registry, self._log, self._version)
        self._rank(self.heartbeats.state)
        now = self._log.identity()
        if now.topic_id == self._version.topic_id:
            drained = watermark.drained(read, self.ends)
            self._registry.note_ends(self.ends, [p for p in drained if read[p] == self.ends.offsets[p]])
        self._topic_trouble = topic_trouble(self._version, now)

    def _rank(self, state: State) -> None:
        if self._priority is not None:
            done = self._committed()
            unread = batch_sizing.unread(done.next_offsets, self.ends)
            idle_seconds = self._standstill.seconds(done.batch_id, time.monotonic())
            self._priority.follow(rank_of(state, self._version.settings, unread, idle_seconds))

    def _beat(self) -> Beat:
        done = self._committed()
        values: dict[str, Any] = {
            **vars(self._first),
            "batch_id": done.batch_id,
            "batch_ms": done.batch_ms,
            "action_ms": done.action_ms,
            "committed_ms": done.at_ms,
            "newest_event_ms": done.newest_event_ms,
            "watermark_ms": done.watermark_ms,
            "watermark_delay_ms": self.delay_ms,
        }
        if self.state is not None:
            values["state_rows"], values["state_bytes"] = self.state
        return Beat(**values)

    def _tell(self, registry: DriverRegistry) -> None:
        """Show what the last round found of the topic, that rounds fail again and again, and why a batch is not
        committed; or take it away. What an earlier driver said of a batch stays until one is committed."""
        broken = f"{self._trouble}; lag is not told" if self._broken >= RED_AFTER_ROUNDS else ""
        uncommitted = self._uncommitted() or ("" if "commit" in self._shown else None)
        found: dict[str, str | None] = {"topic": self._topic_trouble, "watcher": broken, "commit": uncommitted}
        for what, said in found.items():
            if said is None or self._shown.get(what) == said:
                continue
            if said:
                registry.raise_red(what, said)
            else:
                registry.clear_red(what)
            self._shown[what] = said


def topic_trouble(version: Version, now: Identity) -> str:
    """What is wrong with the topic: it is another one, or has partitions that the version does not read."""
    added = sorted(set(now.epochs) - set(version.start_offsets))
    if now.topic_id != version.topic_id:
        return f"topic {version.topic} was deleted and made again; this version reads the old one"
    if added:
        return f"partitions {added} were added to {version.topic}; nothing of them is counted"
    return ""


def _ends(registry: DriverRegistry, log: Log, version: Version) -> Ends:
    """The ends of the version's partitions. The clock is read first, so that all records before it are counted in, and
    then what lies behind an end, which the end itself would no longer tell."""
    now_ms, unsettled = registry.now_ms(), log.unsettled()
    found = log.ends()
    return Ends(now_ms, {p: found[p] for p in version.start_offsets if p in found}, uncertain=unsettled)


def fresh_ends(settings: Settings, version: Version, epoch: int, unread: Offsets) -> Ends:
    """The ends of the log as of now, by connections made for it, and the append_time of the first record at or after
    each offset in `unread`. The topic may be missing for a while. Raises MissingTopic."""
    registry = DriverRegistry(settings, version.job, version.version, epoch)

    def ask() -> Ends:
        with KafkaLog(settings.kafka_access(KafkaUser.STREAM), version.topic) as log:
            ends = _ends(registry, log, version)
            firsts = {p: log.append_time(p, offset) for p, offset in unread.items() if p in ends.offsets}
            return replace(ends, unread_from_ms={p: at for p, at in firsts.items() if at is not None})

    try:
        return once_there(ask)
    finally:
        registry.close()


def own_beat(epoch: int, submission_id: str, generation: int, jvm_pid: int | None) -> Beat:
    """The part of this process's heartbeats that stays."""
    return Beat(
        epoch=epoch,
        driver_pid=os.getpid(),
        jvm_pid=jvm_pid,
        submission_id=submission_id,
        generation=generation,
    )
