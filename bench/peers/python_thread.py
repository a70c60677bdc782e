"""The least that does the job: one Python thread with all state in memory, written to Postgres each second.

A program: python -m bench.peers.python_thread STARTS, where STARTS is JSON, partition -> offset. After a kill it counts
again from there: nothing that it knows outlives it.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
import psycopg
from confluent_kafka import Consumer, Message, TopicPartition
from msgspec import Meta
from psycopg import sql

from bench.peers import tables
from bench.peers.engines import Peer, Task
from bench.peers.processes import Process
from cli.entry import CHECKOUT, settings
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.spark_environment import search_path
from stack.services.postgres import OWNER

MODULE = "bench.peers.python_thread"
FLUSH_SECONDS = 1.0
LATE_MS, FUTURE_MS, CLICK_MS, MINUTE_MS = 7_200_000, 300_000, 10_000, 60_000
MOST_BYTES, MOST_LEVELS = 65_536, 64
Id = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.:\-]{1,64}\Z")]
Uuid = Annotated[str, Meta(pattern=r"^[0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\Z")]
Key = tuple[str, str, int]


class Event(msgspec.Struct, gc=False):
    """The value of a record, by the contract, section 1."""

    event_id: Uuid
    event_type: Literal["impression", "click"]
    slot_id: Id
    client_id: Id
    ad_id: Id
    user_id: Id
    event_time: Annotated[int, Meta(ge=0, le=253_402_300_799_999)]
    cost_micros: Annotated[int, Meta(ge=0, le=10**12)]


_decode = msgspec.json.Decoder(Event).decode


@dataclass
class Counts:
    """The rows so far, which of them are not written yet, and what was counted, per minute."""

    rows: defaultdict[Key, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0]))
    changed: set[Key] = field(default_factory=set)
    seen: defaultdict[int, set[tuple[str, ...]]] = field(default_factory=lambda: defaultdict(set))

    def take(self, key: bytes | None, value: bytes | None, append_ms: int) -> None:
        """Count a record, or drop it in silence."""
        event = decoded(key, value)
        if event is None or not -FUTURE_MS <= append_ms - event.event_time <= LATE_MS:
            return
        is_click, minute = event.event_type == "click", event.event_time // MINUTE_MS * MINUTE_MS
        once = event.user_id + str(event.event_time // CLICK_MS) if is_click else event.event_id.lower()
        identity, seen = (event.client_id, event.ad_id, once), self.seen[minute]
        if identity in seen:
            return
        seen.add(identity)
        row = self.rows[place := (event.client_id, event.ad_id, minute)]
        row[is_click] += 1
        row[2] += event.cost_micros
        self.changed.add(place)

    def take_changed(self) -> list[tuple[object, ...]]:
        """The rows that changed since the last time."""
        taken = [(*place, *self.rows[place]) for place in self.changed]
        self.changed.clear()
        return taken


def decoded(key: bytes | None, value: bytes | None) -> Event | None:
    """The event of a record; None: it breaks a rule.

    Brackets within strings count as levels: more than 64 in a record are refused, which no traffic of a bench has.
    """
    if value is None or len(value) > MOST_BYTES or value.count(b"[") + value.count(b"{") > MOST_LEVELS:
        return None
    try:
        event = _decode(value)
    except (msgspec.MsgspecError, ValueError):
        return None
    return event if key == event.user_id.encode() else None


def write(connection: psycopg.Connection[Any], rows: list[tuple[object, ...]]) -> None:
    """Put absolute values over what the table has, in one transaction."""
    into = sql.SQL(tables.NAME)
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(sql.SQL("create temp table fresh (like {}) on commit drop").format(into))
        with cursor.copy("copy fresh from stdin") as copy:
            for row in rows:
                copy.write_row(row)
        cursor.execute(
            sql.SQL(
                "insert into {} select * from fresh on conflict (client_id, ad_id, minute_ms) do update set "
                "(impressions, clicks, spend_micros) = (excluded.impressions, excluded.clicks, excluded.spend_micros)"
            ).format(into)
        )


def run(stack: Settings, starts: dict[int, int]) -> None:
    """Count for ever."""
    access = stack.kafka_access(KafkaUser.READER).librdkafka()
    consumer = Consumer({**access, "group.id": "kappa-peers", "enable.auto.commit": False, "fetch.wait.max.ms": 20})
    consumer.assign([TopicPartition(stack.topic.name, partition, offset) for partition, offset in starts.items()])
    counts, due, told = Counts(), time.monotonic(), False
    with psycopg.connect(stack.dsn(OWNER)) as connection:
        while True:
            messages = consumer.consume(10_000, 0.05)
            if messages and not told:
                print(f"READING {time.time_ns() // 1_000_000}", flush=True)
                told = True
            _take(counts, messages)
            if time.monotonic() >= due:
                due = time.monotonic() + FLUSH_SECONDS
                if rows := counts.take_changed():
                    write(connection, rows)


def _take(counts: Counts, messages: list[Message]) -> None:
    for message in messages:
        if message.error() is None:
            counts.take(message.key(), message.value(), message.timestamp()[1])


def launch(task: Task) -> list[Process]:
    """Start this program."""
    environment = {"PYTHONPATH": search_path(CHECKOUT), "KAPPA_HOME": str(task.settings.home)}
    argv = [sys.executable, "-m", MODULE, json.dumps(task.starts)]
    process = Process(task.settings, MODULE, argv, task.folder / "python.log", environment)
    process.start()
    return [process]


ENGINE = Peer("Python thread", ("peer python",), launch)


if __name__ == "__main__":
    run(settings(), {int(partition): offset for partition, offset in json.loads(sys.argv[1]).items()})
