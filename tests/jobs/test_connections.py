"""No connection of a driver waits for ever: not for being let in, nor for an answer, whatever it is at."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from jobs import postgres as connections
from jobs.driver import registry
from jobs.postgres import Connection, Silent
from jobs.rescale.checkpoint_lock import CheckpointLock, LockLost
from tests.rigs.case import Case
from tests.rigs.postgres_proxy import PostgresProxy
from tests.rigs.rig import Rig

rig = pytest.mark.rig
JOBS = Path(connections.__file__).parent


@pytest.fixture
def case(cases: Rig, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 2)
    monkeypatch.setattr(Connection, "answer_seconds", 1.0)
    return cases.case()


@pytest.fixture
def proxy(case: Case) -> Iterator[PostgresProxy]:
    with PostgresProxy(case.settings) as made:
        yield made


def ask(connection: Connection) -> None:
    connection.execute("select 1")


def commit(connection: Connection) -> None:
    connection.commit()


def copy(connection: Connection) -> None:
    with connection.cursor().copy("copy pg_temp.stage from stdin") as out:
        out.write(b"1\n")


def transact(connection: Connection) -> None:
    with connection.transaction():
        connection.execute("select 1")


@rig
@pytest.mark.fault("F11", "lost packets end a wait within 30 s, no answer 15 s after the server's limit")
def test_each_wait_has_an_end_that_is_told(cases: Rig) -> None:
    with connections.connect(cases.case().settings, "of a test", "") as connection:
        given = connection.info.get_parameters()
    assert int(given["tcp_user_timeout"]) < 30_000
    keepalives = [int(given[f"keepalives_{name}"]) for name in ("idle", "interval", "count")]
    assert keepalives[0] + keepalives[1] * keepalives[2] < 30
    assert connections.ANSWER_SECONDS == connections.BASE_SECONDS + 15 == connection.answer_seconds


@rig
@pytest.mark.parametrize("act", [ask, commit, copy, transact])
def test_who_waits_for_an_answer_that_does_not_come_is_told_so(
    case: Case, proxy: PostgresProxy, act: Callable[[Connection], Any]
) -> None:
    with connections.connect(proxy.settings, "kappa:test", registry.TIMEOUTS) as connection:
        connection.execute("create temp table stage (n integer)")
        proxy.fall_silent()
        with pytest.raises(Silent, match="no answer within 1 s"):
            act(connection)
        assert connection.closed
        proxy.speak()


@rig
def test_who_is_not_let_in_is_told_so(case: Case, proxy: PostgresProxy) -> None:
    proxy.fall_silent()
    with pytest.raises(psycopg.errors.ConnectionTimeout):
        registry.connect(proxy.settings, "ad_ctr", 1, 1)
    proxy.speak()


@rig
def test_a_lock_that_cannot_be_asked_for_is_taken_to_be_lost(case: Case, proxy: PostgresProxy) -> None:
    with CheckpointLock(proxy.settings, "ad_ctr", 1) as lock:
        lock.check()
        proxy.fall_silent()
        with pytest.raises(LockLost):
            lock.check()
        proxy.speak()


@rig
def test_an_answer_that_takes_its_time_is_waited_for(case: Case) -> None:
    with connections.connect(case.settings, "kappa:test", registry.TIMEOUTS) as connection:
        connection.answer_seconds = 30
        connection.execute("select pg_sleep(1.2)")


def test_all_of_a_drivers_connections_are_made_in_one_place() -> None:
    modules = {path: ast.parse(path.read_text()) for path in JOBS.rglob("*.py")}
    calls = {
        path.name
        for path, module in modules.items()
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in {"psycopg.connect", "psycopg.Connection.connect"}
    }
    assert len(modules) > 30
    assert calls == set()


@rig
def test_the_lock_of_a_host_that_is_gone_ends_within_half_a_minute(case: Case) -> None:
    """By default a server asks after two hours whether its client is there; till then nobody could start the job."""
    names = [f"tcp_keepalives_{name}" for name in ("idle", "interval", "count")]
    with CheckpointLock(case.settings, "ad_ctr", 1) as lock:
        asked = [lock._ask(f"select current_setting('{name}'), %s")[0] for name in names]
    idle, interval, count = map(int, asked)
    assert 0 < idle + interval * count <= 30
