"""What brings about each refusal of a replay from outside: nothing in the product knows of it, and all but the deleted
records is put back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta

import psutil
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from bench import replays
from bench.live import Database, Said, ask, kappa
from bench.replays import ASKED_AFTER, REASON, sentence
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.log.kafka_log import KafkaLog
from kappa.core.refusals import Refusal
from stack import leftovers

RETENTION_MS = 3_600_000
TAKES_SECONDS = 2 * RETENTION_MS // 1000
MANY_CORES = 64
LEAST_RATE = 2
DELETED = 1_000
COMPARED = timedelta(minutes=3)
VALIDATOR = "great_expectations/validate.py"
_FINAL = "select min(complete_through) from serving.freshness where job = %s"
_ROW = """
select client_id, ad_id, window_start from serving.ad_ctr_minute
where is_final and window_start >= %s order by window_start, client_id, ad_id limit 1
"""
_CHANGE = """
update data.ad_ctr_minute r set impression_micros = impression_micros + %s from registry.segment s
where s.job = 'ad_ctr' and s.to_window = 'infinity' and r.version = s.version
    and (client_id, ad_id, window_start) = (%s, %s, %s) returning 1
"""


class NothingFinal(Refusal):
    """There is no row to tamper with."""

    def __init__(self) -> None:
        super().__init__(
            "no served minute is final yet, so a comparison would be empty; nothing was done. Deploy with a shorter "
            "allowed_lateness_ms, play some traffic, and wait for it to be final."
        )


class NotThereInTime(Refusal):
    """A replay did not come to where it was to be met."""

    def __init__(self, what: str, said: str) -> None:
        super().__init__(f"the replay was not met at {what}: {said}")


def too_many_cores(stack: Settings, database: Database, job: str) -> str:
    """More cores are asked for than the worker has free."""
    return planned(stack, job, "--cores", str(MANY_CORES))


def shorter_retention(stack: Settings, database: Database, job: str) -> str:
    """The log would drop what a slow replay has not read yet: retention for a moment, by the topic's own setting.

    No traffic may have come for a minute, else the replay is refused for never catching up.
    """
    with KafkaLog(stack.kafka_access(KafkaUser.CONTROL), stack.topic.name) as log:
        ends, firsts, kept = log.ends(), log.earliest(), log.describe().retention_ms
    unread = sum(end - firsts[partition] for partition, end in ends.items())
    with retention(stack, RETENTION_MS, kept):
        return planned(stack, job, "--rate", str(max(LEAST_RATE, unread // TAKES_SECONDS)))


def shorter_log(stack: Settings, database: Database, job: str) -> str:
    """The log has lost the first records of a partition, and a start is asked for that needs them."""
    with KafkaLog(stack.kafka_access(KafkaUser.CONTROL), stack.topic.name) as log:
        first = log.earliest()[0]
        at_ms, end = log.append_time(0, first) or 0, log.ends()[0]
    delete_before(stack, {0: min(first + DELETED, end)})
    starts = datetime.fromtimestamp(at_ms // 60_000 * 60, UTC)
    return planned(stack, job, "--from", f"{starts:%Y-%m-%dT%H:%MZ}")


def one_micro_more(stack: Settings, database: Database, job: str) -> str:
    """One served row that is final holds one micro more than the log gives, while a replay is compared with it."""
    starts = compared_from(database, job)
    with one_micro_off(stack, database, starts):
        return sentence(replays.replay(stack, database, [job], _since(starts)))


@contextmanager
def one_micro_off(stack: Settings, database: Database, starts: datetime) -> Iterator[tuple[str, str, datetime]]:
    """The first final row of `ad_ctr` from then on, (client, ad, window), is served with a micro more while the body
    runs. Raises NothingFinal."""
    row = next(iter(database.rows(_ROW, starts)), None)
    if row is None:
        raise NothingFinal
    owner = Database(stack, stack.postgres_user)
    owner.rows(_CHANGE, 1, *row)
    try:
        yield row
    finally:
        owner.rows(_CHANGE, -1, *row)
        owner.close()


def killed_validation(stack: Settings, database: Database, job: str) -> str:
    """The program that validates is killed (-9)."""
    with _replaying(stack, database, job) as command:
        _until(command, "the validation", lambda: _killed(stack))
    return sentence(command.result())


def rolled_back_at_the_question(stack: Settings, database: Database, job: str) -> str:
    """A second replay has passed and waits for its answer; the first, against which it was compared, is rolled back;
    then somebody says yes."""
    replays.measured(stack, database, [job], _since(compared_from(database, job)))
    since_ms = database.now_ms()
    with _replaying(stack, database, job) as command:
        _until(command, "its question", lambda: _asks(database, since_ms))
        kappa(stack, "rollback", job, "--reason", REASON)
        found = replays.newest(database, since_ms)
        assert found is not None
        _until(command, "its question", lambda: replays.reply(stack, found.run_id, replays.APPROVE))
    return sentence(command.result())


def planned(stack: Settings, job: str, *options: str) -> str:
    """The words with which a dry run is refused."""
    return sentence(ask(stack, "reprocess", job, *options, "--dry-run"))


def compared_from(database: Database, job: str) -> datetime:
    """T for a replay that is short and has some minutes to compare. Raises NothingFinal."""
    ((through,),) = database.rows(_FINAL, job)
    if through is None:
        raise NothingFinal
    moment: datetime = (through - COMPARED).astimezone(UTC).replace(second=0, microsecond=0)
    return moment


def _since(starts: datetime) -> Sequence[str]:
    return ("--from", f"{starts:%Y-%m-%dT%H:%MZ}", "--cores", "1")


@contextmanager
def _replaying(stack: Settings, database: Database, job: str) -> Iterator[Future[Said]]:
    """A replay that nobody answers by itself, while the body runs; at the end it has ended."""
    arguments = (job, *_since(compared_from(database, job)), "--reason", REASON, "--json")
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(ask, stack, "reprocess", *arguments)


def _until(command: Future[Said], what: str, there: Callable[[], bool]) -> None:
    """Until it is there. Raises NotThereInTime where the command ends first."""
    while not there():
        if command.done():
            raise NotThereInTime(what, sentence(command.result()))
        time.sleep(0.5)


def _asks(database: Database, since_ms: float) -> bool:
    found = replays.newest(database, since_ms)
    return found is not None and ASKED_AFTER in found.marks


def _killed(stack: Settings) -> bool:
    """Whether a program that validates was there, and is no more."""
    for process in leftovers.marked(stack.home):
        with suppress(psutil.Error):
            if any(part.endswith(VALIDATOR) for part in process.cmdline()):
                process.kill()
                return True
    return False


def delete_before(stack: Settings, offsets: Mapping[int, int]) -> None:
    """Have the broker delete each partition's records before the offset."""
    gone = [TopicPartition(stack.topic.name, partition, offset) for partition, offset in offsets.items()]
    admin = _admin(stack)
    for done in admin.delete_records(gone).values():
        done.result()


@contextmanager
def retention(stack: Settings, retention_ms: int, before_ms: int | None) -> Iterator[None]:
    """The topic keeps its records for so long, and not long enough for the broker to look what it may drop; None: no
    limit."""
    _set_retention(stack, retention_ms)
    try:
        yield
    finally:
        _set_retention(stack, -1 if before_ms is None else before_ms)


def _set_retention(stack: Settings, retention_ms: int) -> None:
    entry = ConfigEntry("retention.ms", str(retention_ms), incremental_operation=AlterConfigOpType.SET)
    topic = ConfigResource(ResourceType.TOPIC, stack.topic.name, incremental_configs=[entry])
    admin = _admin(stack)
    for done in admin.incremental_alter_configs([topic]).values():
        done.result()


def _admin(stack: Settings) -> AdminClient:
    """A client that the caller must keep until all it asked for is done: what is left of one that is gone fails."""
    return AdminClient({**stack.kafka_access(KafkaUser.ADMIN).librdkafka(), "log_level": 2})
