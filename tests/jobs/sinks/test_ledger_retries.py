"""A batch whose transaction met trouble is tried again by the same driver, until it is in once and exactly."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.errors import IdleInTransactionSessionTimeout, TransactionTimeout

from jobs import postgres as transactions
from jobs.driver import registry
from jobs.driver.log_identity import Answer
from jobs.driver.registry import connect
from jobs.driver.watermark import Reach
from jobs.pipelines.pipeline import Run
from jobs.sinks import ledger
from jobs.sinks.batch_sink import BatchSink
from jobs.sinks.ledger import Batch, Owner, Written
from jobs.transforms.tally import Tally
from kappa.core import job_catalog
from kappa.core.fates import Fate
from kappa.core.installation.settings import Settings
from tests.jobs.books import FIRST, SECOND, Desk, quarantined, stored, totals
from tests.rigs.case import Case
from tests.rigs.checkpoint_folders import in_folder
from tests.rigs.postgres_proxy import PostgresProxy
from tests.rigs.transactions import PATIENCE_SECONDS, await_waiting, holding

pytestmark = pytest.mark.rig
SHORT = "-c transaction_timeout=1s -c idle_in_transaction_session_timeout=1s -c timezone=UTC"
GATE = 7


def sink_of(settings: Settings, owner: Owner) -> BatchSink:
    """A sink as a driver's; what it would ask of the log is not asked."""
    run = Run(job_catalog.resolve(owner.job, {}), None, (0, 1), 0)
    dial = partial(connect, settings, owner.job.name, owner.version, owner.epoch)
    nothing: Any = None
    return BatchSink(
        owner, run, in_folder(Path("/none")), dial, Reach({}), lambda: None, lambda _: nothing, nothing, {}
    )  # fmt: skip


def answered() -> Answer:
    coming: Future[None] = Future()
    coming.set_result(None)
    return Answer(coming)


def write(sink: BatchSink, batch: Batch) -> Written:
    """The transaction of one batch, again and again as in a driver."""
    with closing(sink):
        return sink._write(batch, None, answered())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time-outs of a second instead of half a minute."""
    monkeypatch.setattr(transactions, "BASE_SECONDS", 1)
    monkeypatch.setattr(registry, "TIMEOUTS", SHORT)


@pytest.fixture
def timeouts(monkeypatch: pytest.MonkeyPatch) -> list[type[Exception]]:
    """What the ledger's transactions were ended by, as they come."""
    seen: list[type[Exception]] = []
    whole = ledger.write

    def watched(*given: Any) -> Written:
        try:
            return whole(*given)
        except psycopg.Error as error:
            seen.append(type(error))
            raise

    monkeypatch.setattr(ledger, "write", watched)
    return seen


LEFT_BEHIND: dict[str, Callable[[Desk, Desk], Batch]] = {
    "rows": lambda desk, _: desk.book.batch(0, FIRST),
    "no rows": lambda desk, _: desk.book.batch(0, [], {Fate.LATE: Tally(2, 30)}),
    "quarantine": lambda _, keeper: quarantined(0, 3, 1, keeper.book.offsets),
}


@pytest.mark.parametrize("kind", LEFT_BEHIND)
def test_a_retry_beside_its_own_first_transaction_waits_for_it_and_is_a_rewrite(
    desk: Desk, keeper: Desk, kind: str
) -> None:
    """The connection broke, the server has not noticed: the first transaction is open, and commits."""
    writer = keeper if kind == "quarantine" else desk
    batch, owner = LEFT_BEHIND[kind](desk, keeper), writer.book.owner
    with ThreadPoolExecutor(1) as pool:
        retried: list[Future[Written]] = []

        def retry_meanwhile() -> None:
            retried.append(pool.submit(write, sink_of(desk.case.settings, owner), batch))
            await_waiting(desk.case, goes_on=lambda: not retried[0].done())

        first = ledger.write(writer.connection, owner, batch, {}, {}, retry_meanwhile)
        again = retried[0].result(PATIENCE_SECONDS)
    assert (first.rewrite, again.rewrite) == (False, True)
    assert len(desk.case.batches(owner.job.name)) == 1
    desk.case.check_ranges(owner.job.name)
    assert totals(desk.case) == desk.book.totals


@pytest.fixture
def gate(case: Case) -> Iterator[None]:
    """COMMIT of a batch waits, once, for whoever holds the gate."""
    case.query("create function public.wait_at_commit() returns trigger language plpgsql as "
               f"$$ begin perform pg_advisory_xact_lock({GATE}); return null; end $$")  # fmt: skip
    case.query("create constraint trigger wait_at_commit after insert on registry.batch "
               "deferrable initially deferred for each row execute function public.wait_at_commit()")  # fmt: skip
    yield
    case.query("drop function public.wait_at_commit cascade")


@pytest.mark.usefixtures("gate")
def test_a_connection_cut_during_commit_ends_as_a_rewrite(desk: Desk) -> None:
    case, batch = desk.case, desk.book.batch(0, FIRST)
    with PostgresProxy(case.settings) as wire, ThreadPoolExecutor(1) as pool:
        with holding(case, f"select pg_advisory_xact_lock({GATE})"):
            written = pool.submit(write, sink_of(wire.settings, desk.book.owner), batch)
            await_waiting(case, lambda event: event == "advisory")
            wire.cut()
            await_waiting(case, lambda event: event != "advisory", lambda: not written.done())
        assert written.result(PATIENCE_SECONDS).rewrite
    assert len(case.batches("ad_ctr")) == 1
    case.check_ranges("ad_ctr")
    assert totals(case) == desk.book.totals


@pytest.mark.usefixtures("impatient")
def test_a_connection_cut_within_copy_does_not_keep_the_driver_from_its_own_fence(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No time-out of Postgres ends a COPY that waits for its client."""
    case, batch = desk.case, desk.book.batch(0, FIRST)
    copied = psycopg.Copy.write
    with PostgresProxy(case.settings) as wire, ThreadPoolExecutor(1) as pool:

        def cut_once(copy: psycopg.Copy, data: bytes) -> None:
            monkeypatch.setattr(psycopg.Copy, "write", copied)
            wire.cut()
            copied(copy, data)

        monkeypatch.setattr(psycopg.Copy, "write", cut_once)
        written = pool.submit(write, sink_of(wire.settings, desk.book.owner), batch)
        assert not written.result(PATIENCE_SECONDS).rewrite
    assert totals(case) == desk.book.totals


@pytest.mark.fault("F12", "no failed run: the batch is tried again after the deadlock")
def test_a_deadlock_with_another_writer_is_tried_again(desk: Desk, timeouts: list[type[Exception]]) -> None:
    case = desk.case
    case.query("alter role kappa_writer set deadlock_timeout = '2s'")
    try:
        desk.write(desk.book.batch(0, FIRST))
        touched = "update data.ad_ctr_minute set clicks = clicks where ad_id = '{}'"
        batch = desk.book.batch(1, SECOND)
        with ThreadPoolExecutor(1) as pool:
            with holding(case, "set deadlock_timeout = '1min'", touched.format("a2")) as other:
                written = pool.submit(write, sink_of(case.settings, desk.book.owner), batch)
                await_waiting(case, lambda event: event == "transactionid")
                other.execute(touched.format("a1"))
            assert not written.result(PATIENCE_SECONDS).rewrite
    finally:
        case.query("alter role kappa_writer reset deadlock_timeout")
    assert timeouts == [psycopg.errors.DeadlockDetected]
    assert totals(case) == desk.book.totals


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("locked", ["data.ad_ctr_minute", "registry.batch", "registry.progress", "registry.fence"])
def test_a_table_locked_for_longer_than_the_time_out_is_waited_for(desk: Desk, locked: str) -> None:
    batch = desk.book.batch(0, FIRST)
    with ThreadPoolExecutor(1) as pool:
        with holding(desk.case, f"lock table {locked} in access exclusive mode"):
            written = pool.submit(write, sink_of(desk.case.settings, desk.book.owner), batch)
            await_waiting(desk.case, goes_on=lambda: not written.done(), many=2)
        assert not written.result(PATIENCE_SECONDS).rewrite
    assert totals(desk.case) == desk.book.totals


@pytest.mark.usefixtures("impatient")
def test_a_transaction_that_idled_for_too_long_is_tried_again(desk: Desk, timeouts: list[type[Exception]]) -> None:
    """The machine was busy with something else."""
    sink, batch, pauses = sink_of(desk.case.settings, desk.book.owner), desk.book.batch(0, FIRST), [2.0]

    class Late(Answer):
        def check(self) -> None:
            threading.Event().wait(pauses.pop() if pauses else 0)

    with closing(sink):
        assert not sink._write(batch, None, Late(Future())).rewrite
    assert timeouts == [IdleInTransactionSessionTimeout]
    assert totals(desk.case) == desk.book.totals


@pytest.fixture
def slow(case: Case) -> Iterator[None]:
    """Each batch takes Postgres 1.5 s."""
    case.query("create function public.take_long() returns trigger language plpgsql as "
               "$$ begin perform pg_sleep(1.5); return null; end $$")  # fmt: skip
    case.query("create trigger take_long after insert on registry.batch "
               "for each row execute function public.take_long()")  # fmt: skip
    yield
    case.query("drop function public.take_long cascade")


@pytest.mark.usefixtures("impatient", "slow")
@pytest.mark.parametrize(
    ("rows_per_base", "seen"), [(1, []), (100_000, [TransactionTimeout])],
    ids=["many rows are given more time", "few rows are given more time after a time-out"],
)  # fmt: skip
def test_a_batch_that_takes_longer_than_the_base_time_out_is_committed(
    desk: Desk,
    timeouts: list[type[Exception]],
    monkeypatch: pytest.MonkeyPatch,
    rows_per_base: int,
    seen: list[type[Exception]],
) -> None:
    monkeypatch.setattr(transactions, "ROWS_PER_BASE", rows_per_base)
    sink = sink_of(desk.case.settings, desk.book.owner)
    with closing(sink):
        assert not sink._write(desk.book.batch(0, FIRST), None, answered()).rewrite
        assert timeouts == seen
        desk.case.query("drop trigger take_long on registry.batch")
        sink._write(desk.book.batch(1, []), None, answered())
        limit = sink._connection.ready(0).execute("show transaction_timeout").fetchone()
    assert limit == ("1s",), "what one batch was given is not the next one's"


def test_progress_and_rows_of_a_stored_batch_are_those_of_its_first_transaction(desk: Desk) -> None:
    batch = desk.book.batch(0, FIRST)
    desk.write(batch)
    before = stored(desk.case, desk.book.owner.job)
    assert write(sink_of(desk.case.settings, desk.book.owner), batch).rewrite
    assert stored(desk.case, desk.book.owner.job) == before
