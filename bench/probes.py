"""Markers in the log for a measure of latency: one event each, of a client and an ad of its own, and who sees them."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, KafkaError, Message, Producer

from bench.beside import Beside
from bench.live import Database
from bench.load import now_ms
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from traffic.records import Event, encode

VIEWS = {
    "ad_ctr": "select client_id from serving.ad_ctr_minute where client_id = any(%s)",
    "client_spend": "select client_id from serving.client_spend_day where client_id = any(%s)",
}
"""Job -> which of these probes its view shows; ad_ctr's have an ad as well, named as the client."""
GRACE_SECONDS = 60.0
"""How long the last probes may take; those that are not seen by then are `missing`."""


class NotAppended(Refusal):
    """The broker did not take a probe, or did not stamp it."""

    def __init__(self, problem: object) -> None:
        super().__init__(f"a probe was not appended ({problem}). './kappa status' says what runs; nothing is measured.")


class Prober:
    """Sends probes and keeps the broker's append time (epoch ms) of each: `appended`, by probe."""

    def __init__(self, settings: Settings) -> None:
        self._topic = settings.topic.name
        self._run = uuid.uuid4().hex[:8]
        self._sent = 0
        self._problem: object = None
        self.appended: dict[str, int] = {}
        self._producer = Producer(
            {
                **settings.kafka_access(KafkaUser.ADMIN).librdkafka(),
                "partitioner": "murmur2_random",
                "acks": "all",
                "linger.ms": 0,
                "log_level": 2,
            }
        )

    def send(self) -> None:
        """One probe, by a user of its own, so that all partitions get some. Raises NotAppended for an earlier one."""
        self._sent += 1
        name = f"probe-{self._run}-{self._sent}"
        event = Event(str(uuid.uuid4()), "impression", "probe", name, name, name, now_ms(), 1)
        self._producer.produce(self._topic, encode(event), name.encode(), on_delivery=self._noting(name))
        self.serve()

    def serve(self, seconds: float = 0.0) -> None:
        """Hear of deliveries. Raises NotAppended."""
        self._producer.poll(seconds)
        if self._problem is not None:
            raise NotAppended(self._problem)

    def finish(self) -> None:
        """Wait until all are appended. Raises NotAppended."""
        self._producer.flush(30)
        self.serve()

    def _noting(self, name: str) -> Callable[[KafkaError | None, Message], None]:
        def note(error: KafkaError | None, message: Message) -> None:
            kind, at = message.timestamp()
            if error is not None:
                self._problem = error
            elif kind != TIMESTAMP_LOG_APPEND_TIME:
                self._problem = "the broker does not stamp it"
            else:
                self.appended[name] = at

        return note


class Reader(Beside):
    """A reader of a view on a connection of its own: `seen` has the time (epoch ms) at which each probe was there."""

    def __init__(self, settings: Settings, job: str, statement: str, prober: Prober, every_ms: float) -> None:
        super().__init__(f"reader-{job}")
        self._settings, self._statement, self._prober, self._every = settings, statement, prober, every_ms / 1000
        self.seen: dict[str, float] = {}
        self.query_ms: list[float] = []

    def waiting(self) -> list[str]:
        """Appended probes that this reader has not seen. Raises what ended the reader."""
        self.check()
        return [name for name in list(self._prober.appended) if name not in self.seen]

    def work(self) -> None:
        """Look every so often for the probes that are not there yet."""
        database = Database(self._settings, "kappa_reader")
        while not self.stopping.wait(self._every):
            self._look(database)
        database.close()

    def _look(self, database: Database) -> None:
        """A probe counts as visible when the answer that shows it has arrived."""
        if not (waiting := self.waiting()):
            return
        asked = time.monotonic()
        found = database.rows(self._statement, waiting)
        at = time.time() * 1000
        self.query_ms.append((time.monotonic() - asked) * 1000)
        for (name,) in found:
            self.seen.setdefault(name, at)


class Probing(Beside):
    """A probe every so often and a reader of each view, on threads of their own, from enter to exit."""

    def __init__(self, settings: Settings, every_ms: float, poll_ms: float, views: Mapping[str, str] = VIEWS) -> None:
        super().__init__("probes")
        self.prober = Prober(settings)
        self.readers: Mapping[str, Reader] = {
            job: Reader(settings, job, statement, self.prober, poll_ms) for job, statement in views.items()
        }
        self._every, self._running = every_ms / 1000, ExitStack()

    def __enter__(self) -> Self:
        for reader in self.readers.values():
            self._running.enter_context(reader)
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Waits for the last probes to be seen. Raises what ended the probes or a reader."""
        with self._running:
            super().__exit__(kind, error, trace)
            if error is None:
                self._finish()

    def _finish(self) -> None:
        self.prober.finish()
        deadline = time.monotonic() + GRACE_SECONDS
        while any(reader.waiting() for reader in self.readers.values()) and time.monotonic() < deadline:
            time.sleep(self._every)

    def work(self) -> None:
        """Probes at fixed times, hearing of deliveries as they come: a reader looks only for what it knows to be
        appended."""
        due = time.monotonic()
        while not self.stopping.is_set():
            self.prober.send()
            due += self._every
            while (left := due - time.monotonic()) > 0:
                self.prober.serve(min(left, 0.05))


def latencies(
    appended: Mapping[str, int], seen: Mapping[str, float], from_ms: float, until_ms: float = math.inf
) -> list[float]:
    """Milliseconds from append to visible of the probes appended from `from_ms` on and before `until_ms`."""
    # A copy at once: both grow meanwhile.
    within = [(name, at) for name, at in list(appended.items()) if from_ms <= at < until_ms]
    return [seen[name] - at for name, at in within if name in seen]
