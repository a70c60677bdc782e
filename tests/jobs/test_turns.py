"""Whoever has its turn is alone with it; nobody waits for it for ever, and it ends with its holder."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

import psycopg
import pytest

from jobs import pace, query
from jobs.pipelines.pipeline import Run
from jobs.reach import Ends
from jobs.registry import Version, connect
from jobs.settings import Settings
from jobs.turns import turn
from tests.running_stack import Stack

pytestmark = pytest.mark.integration
EPOCHS = (1, 2)
LONG_MS, SHORT_MS = 60_000, 200


def test_only_large_batches_wait_for_their_turn(live: Stack) -> None:
    usual = {"cadence_ms": 1_000, "records_per_batch": 500}
    version = Version("ad_ctr", 1, "STAGED", "running", usual, "t", "id", None, {0: 0}, 1)
    turns = []
    for given in (pace.far(usual), pace.near(usual), usual):
        run = Run(given, None, (0,), 0, evicting=False)
        sink = query.sink_of(live.settings, version, 1, run, ({0: 0}, {}), lambda: None, lambda: Ends(0, {}))
        turns.append(sink.turn is not nullcontext)
    assert turns == [True, False, False]


def test_one_waits_until_the_other_is_through(live: Stack) -> None:
    with _other(live.settings, LONG_MS) as entered:
        assert _waits(live), "it asks and gets no turn"
        assert not entered.is_set()
    assert entered.is_set()


def test_a_turn_ends_with_its_connection(live: Stack) -> None:
    """As when a driver's process dies, or its successor ends what it left."""
    with _other(live.settings, LONG_MS) as entered:
        assert _waits(live)
        live.query(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = %s",
            _name(0),
            role="postgres",
        )
        assert entered.wait(30)


def test_who_waited_long_enough_goes_on_without(live: Stack) -> None:
    with _other(live.settings, SHORT_MS) as entered:
        assert entered.wait(30)


def test_nobody_waits_for_a_postgres_that_is_away(live: Stack) -> None:
    def away() -> psycopg.Connection[tuple[object, ...]]:
        raise psycopg.OperationalError("no route")

    with turn(away, LONG_MS):
        pass


@contextmanager
def _other(settings: Settings, patience_ms: int) -> Iterator[threading.Event]:
    """The body has its turn while another asks for one; the event: the other has begun. It has ended afterwards."""
    mine, others = (partial(connect, settings, "turns", 0, epoch) for epoch in EPOCHS)
    entered = threading.Event()

    def ask() -> None:
        with turn(others, patience_ms):
            entered.set()

    thread = threading.Thread(target=ask)
    with turn(mine, LONG_MS):
        thread.start()
        yield entered
    thread.join(60)


def _waits(stack: Stack) -> bool:
    waiting = "select count(*) from pg_stat_activity where application_name = %s and wait_event_type = 'Lock'"
    stack.until("the other waits", lambda: stack.query(waiting, _name(1), role="postgres") == [(1,)])
    return True


def _name(which: int) -> str:
    return f"kappa:turns:v0:e{EPOCHS[which]}"
