"""Whether the log is the one that was read: the same topic, and of each partition the last record read still there."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from functools import partial
from threading import Event
from typing import TypeVar

from kafka.errors import KafkaError, KafkaTimeoutError

from kappa.core.installation.kafka_access import KafkaAccess
from kappa.core.log.kafka_log import KafkaLog, LastRead, Log, Offsets
from kappa.core.log.topic import MissingTopic, Topic, check_stamping
from kappa.core.refusals import Refusal
from kappa.core.versions import Version

_T = TypeVar("_T")
logger = logging.getLogger("kappa.log")
MISSING_SECONDS = 20.0
"""A topic may be missing for so long before it counts as deleted: a broker that starts may not know it yet."""
MISSING_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 5.0
PATIENCE_SECONDS = 2.0
"""For so long a transaction is held open for an answer; then it is rolled back, and begun anew once there is one."""


class TopicReplaced(Refusal):
    """The topic was deleted and made again, or has other partitions than the version was staged for."""

    def __init__(self, version: Version, found: str) -> None:
        super().__init__(
            f"topic {version.topic} is not the one that {version.job} v{version.version} was staged for: {found}. "
            "Nothing of it was written. Replay it into a new version with './kappa reprocess'."
        )


class LogTooShort(Refusal):
    """Retention passed the position of the version: records that it never read are gone."""

    def __init__(self, version: Version, lost: str) -> None:
        super().__init__(
            f"{version.job} v{version.version}: the log no longer holds what is to be read next ({lost}). "
            "Nothing was skipped. Lengthen the retention, and replay into a new version with './kappa reprocess'."
        )


class LogRewritten(Refusal):
    """A record that was read and counted is not in the log any more, or another one has its offset."""

    def __init__(self, version: Version, partition: int, read: str, found: str) -> None:
        super().__init__(
            f"{version.job} v{version.version}: topic {version.topic}, partition {partition}: {read}, but {found}. The "
            "end of the log was lost, and its offsets are used again for other records. Nothing was written. Replay "
            "what the log holds now into a new version with './kappa reprocess'."
        )


class LogSilent(Exception):  # noqa: N818 - it may pass
    """The broker has not said yet whether the log is the one that was read."""


def check(version: Version, topic: Topic) -> None:
    """Refuse a topic whose offsets mean other records, or whose records producers stamp. Raises WrongTimestampType,
    TopicReplaced."""
    check_stamping(topic)
    check_id(version, topic.topic_id)
    if not set(version.start_offsets) <= set(topic.partitions):
        raise TopicReplaced(version, f"it has the partitions {topic.partitions}")


def check_id(version: Version, topic_id: str) -> None:
    """Refuse another topic of the same name. Raises TopicReplaced."""
    if topic_id != version.topic_id:
        raise TopicReplaced(version, f"its id is {topic_id}, not {version.topic_id}")


class Absence:
    """For how long the topic has been missing, since it was first found so."""

    def __init__(self) -> None:
        self._since: float | None = None

    def bear(self, missing: MissingTopic) -> None:
        """Return where it may still come, else raise what was given."""
        now = time.monotonic()
        if self._since is None:
            self._since = now
            logger.warning("the topic is waited for: %s", missing)
        if now - self._since > MISSING_SECONDS:
            raise missing


def once_there(ask: Callable[[], _T], is_over: Callable[[float], object] = time.sleep) -> _T:
    """What `ask` says of the topic, which may be missing for a while. `is_over` waits for so many seconds, and says
    whether there is nothing more to wait for. Raises MissingTopic, and as `ask`."""
    absence = Absence()
    while True:
        try:
            return ask()
        except MissingTopic as missing:
            absence.bear(missing)
            if is_over(MISSING_PAUSE_SECONDS):
                raise


def check_once_there(
    access: KafkaAccess, version: Version, goes_on: Callable[[], bool], sleep: Callable[[float], None]
) -> None:
    """Check the topic as soon as the broker answers, or leave it once `goes_on` says no: a start that waits is none
    that failed. Raises as `check`, and MissingTopic."""
    absence = Absence()
    while goes_on():
        try:
            with KafkaLog(access, version.topic) as log:
                check(version, log.describe())
            break
        except MissingTopic as missing:
            absence.bear(missing)
        except (KafkaError, OSError) as error:
            logger.warning("the broker does not answer, so the start waits: %r", error)
        sleep(1.0)


def check_records(version: Version, log: Log, position: Offsets, *last: Mapping[int, LastRead]) -> None:
    """Refuse a log that does not hold what comes next, or no longer holds what was read.

    `position` is the next offset per partition, `last` the record before it, and before earlier ones; none where
    nothing was read. What retention removed was there once: no look. Raises LogTooShort, LogRewritten, KafkaError.
    """
    firsts, ends = log.earliest(), log.ends()
    for partition, offset in sorted(position.items()):
        first, end = firsts.get(partition, 0), ends.get(partition, 0)
        if first > offset:
            raise LogTooShort(version, f"partition {partition}: offsets {offset} to {first - 1} are gone")
        if end < offset:
            raise LogRewritten(version, partition, f"it was read up to offset {offset}", f"ends at {end} now")
        for read in sorted({one[partition] for one in last if partition in one and one[partition].offset >= first}):
            _check_record(version, log, partition, read)


def _check_record(version: Version, log: Log, partition: int, read: LastRead) -> None:
    found = log.appended(partition, read.offset)
    if found is None:
        raise KafkaTimeoutError(f"no answer for offset {read.offset} of partition {partition}")
    if found.offset > read.offset and log.earliest().get(partition, 0) > read.offset:
        return  # retention removed it since
    if (found.offset, found.at_ms) != (read.offset, read.append_ms):
        counted = f"the record at offset {read.offset} was read with append_time {read.append_ms}"
        raise LogRewritten(version, partition, counted, f"offset {found.offset} has {found.at_ms} now")


class Answer:
    """What the log says, or will."""

    def __init__(self, coming: Future[None]) -> None:
        self._coming = coming

    def check(self) -> None:
        """Pass where the log is the one that was read. Raises TopicReplaced, LogRewritten, LogTooShort, LogSilent."""
        try:
            self._coming.result(PATIENCE_SECONDS)
        except NotYet:
            raise LogSilent("the broker does not answer, so nothing is committed") from None

    @property
    def is_there(self) -> bool:
        """Whether the broker has answered."""
        return self._coming.done()

    def wait(self, seconds: float) -> None:
        """Return once there is an answer, or so many seconds later."""
        with suppress(Exception):
            self._coming.result(seconds)


class LogWitness:
    """Says whether the log is the one that was read, asked by a thread and a connection of its own.

    The topic's id is asked for each time. The records are looked at where `thorough`, and where a partition's leader
    epoch has changed since they were: a broker that restarts begins a new one, and within one nothing is cut off.
    """

    def __init__(self, version: Version, open_log: Callable[[], KafkaLog]) -> None:
        self._version, self._open_log = version, open_log
        self._log: KafkaLog | None = None
        self._epochs: Mapping[int, int] | None = None
        self._closed = Event()
        self._thread = ThreadPoolExecutor(1, "log-witness")

    def ask(self, position: Offsets, *last: Mapping[int, LastRead]) -> Answer:
        """Ask until the broker answers; the answer is about a time after this call."""
        return Answer(self._thread.submit(self._until_answered, position, *last))

    def look(self, position: Offsets, last: Mapping[int, LastRead]) -> None:
        """Ask once, thoroughly, and wait for it; the topic may be missing for a while. Raises TopicReplaced,
        MissingTopic, LogRewritten, LogTooShort, KafkaError, OSError."""
        self._thread.submit(once_there, partial(self._ask, position, last, thorough=True), self._closed.wait).result()

    def close(self) -> None:
        """Ask no more."""
        self._closed.set()
        self._thread.submit(self._forget)
        self._thread.shutdown(wait=False)

    def _until_answered(self, position: Offsets, *last: Mapping[int, LastRead]) -> None:
        absence, pause = Absence(), 0.2
        while not self._closed.is_set():
            try:
                return self._ask(position, *last)
            except MissingTopic as missing:
                absence.bear(missing)
            except (KafkaError, OSError) as error:
                logger.warning("the broker does not say which topic it has, so nothing is committed: %r", error)
            self._closed.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        raise LogSilent("the query ended before the broker answered")

    def _ask(self, position: Offsets, *last: Mapping[int, LastRead], thorough: bool = False) -> None:
        try:
            log = self._log = self._log or self._open_log()
            now = log.identity()
            check_id(self._version, now.topic_id)
            if thorough or now.epochs != self._epochs:
                try:
                    check_records(self._version, log, position, *last)
                except (LogRewritten, LogTooShort):
                    check_id(self._version, log.identity().topic_id)  # another topic since, whose records these are
                    raise
                self._epochs = now.epochs
        except (KafkaError, OSError):
            if self._epochs is None:  # they have not answered yet; those that have ask another broker first
                self._forget()
            self._epochs = None
            raise

    def _forget(self) -> None:
        """Close the clients; others are made for the next question."""
        opened, self._log = self._log, None
        if opened is not None:
            opened.close()
