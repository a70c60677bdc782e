"""Whether Postgres, the broker, the supervisor and a monitor elsewhere answer, asked with a bound of this side's own: a
server that accepts and then never answers keeps to no time-out that it is told."""

from __future__ import annotations

import http.client
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import psycopg
from kafka.errors import KafkaError
from psycopg.rows import dict_row

from kappa.core.installation.kafka_access import UserUnknown
from kappa.core.installation.no_registry import NoRegistry
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.status.deadline import cut_off
from stack import supervision
from stack.layout import Layout
from stack.services import kafka as broker
from stack.services import monitor, postgres
from stack.supervision import Process, Supervisor, SupervisorSilent

BOUND_SECONDS = 4.0
"""The longest that one part is waited for; with the start of the command itself `status` takes less than 10 s."""
MISSING = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.InsufficientPrivilege,
)
UNANSWERED = (KafkaError, OSError, UserUnknown, http.client.HTTPException)
"""What the question of a part that is away ends with."""
Reading = psycopg.Connection[dict[str, Any]]


class DoesNotAnswer(Refusal):
    """A part of the stack is away, or does not answer in time; `part` is its process."""

    def __init__(self, part: str, why: object) -> None:
        self.part = part
        super().__init__(f"{part} does not answer: {' '.join(str(why).split())}")


Told = Callable[[], DoesNotAnswer | None]
"""What is wrong with a part, if anything is."""


@contextmanager
def reading(settings: Settings, role: str, seconds: float = BOUND_SECONDS) -> Iterator[Reading]:
    """A connection on which each statement sees the present, its times in UTC; it is cut off after so many seconds,
    whatever the server does. Raises DoesNotAnswer, NoRegistry."""
    ends, cut = time.monotonic() + seconds, threading.Event()
    limits = f"-c timezone=UTC -c statement_timeout={round(seconds * 1000)}"
    try:
        with (
            closing(_connect(settings.dsn(role), limits, math.ceil(seconds))) as connection,
            cut_off(connection, ends - time.monotonic(), cut),
        ):
            yield connection
    except psycopg.OperationalError as error:
        if _is_missing(error):
            raise NoRegistry(error) from error
        late = cut.is_set() or isinstance(error, psycopg.errors.ConnectionTimeout)
        where = settings.database_address
        raise DoesNotAnswer(postgres.NAME, f"no answer from {where} within {seconds:g} s" if late else error) from error
    except MISSING as error:
        raise NoRegistry(error) from error


def ask_broker(settings: Settings, seconds: float = BOUND_SECONDS) -> Told:
    """Ask the broker for its metadata, beside what is done meanwhile."""
    return _beside(broker.NAME, settings.kafka_server.bootstrap, partial(broker.ask, settings, seconds), seconds)


def ask_monitor(settings: Settings, seconds: float = BOUND_SECONDS) -> Told:
    """Ask the monitor that the settings name, if they name any; the supervisor knows of that of the embedded stack."""
    url = settings.metrics.url
    return _beside(monitor.NAME, url, partial(monitor.ask, url, seconds), seconds) if url else lambda: None


def ask_supervisor(
    layout: Layout, seconds: float = BOUND_SECONDS
) -> tuple[list[Process], list[DoesNotAnswer | NoRegistry]]:
    """The processes of the stack, none where it is down, or that the supervisor does not answer."""
    try:
        return Supervisor(layout, seconds).processes(), []
    except SupervisorSilent:
        return [], [DoesNotAnswer(supervision.NAME, f"no answer on its socket within {seconds:g} s")]


def _beside(part: str, where: str, question: Callable[[], None], seconds: float) -> Told:
    """Ask a part beside what is done meanwhile; what is told waits for the answer, until so many seconds after the
    question."""
    ends, found = time.monotonic() + seconds, [f"no answer from {where} within {seconds:g} s"]

    def ask() -> None:
        try:
            question()
        except UNANSWERED as error:
            found[:] = [f"{where}: {error}"]
        else:
            found.clear()

    def told() -> DoesNotAnswer | None:
        asking.join(max(0.0, ends - time.monotonic()))
        said = list(found)
        return DoesNotAnswer(part, said[0]) if said else None

    asking = threading.Thread(target=ask, name=f"ask-{part}", daemon=True)
    asking.start()
    return told


def _connect(dsn: str, options: str, seconds: int) -> Reading:
    return psycopg.connect(dsn, autocommit=True, row_factory=dict_row, connect_timeout=seconds, options=options)


def _is_missing(error: psycopg.OperationalError) -> bool:
    """The server let nobody in because the database is not there; a failed connection has no code to tell it by."""
    return "database" in str(error) and "does not exist" in str(error)
