"""A pooler of transactions is recognised although nobody else uses it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from cli.doctor import transaction_pooler
from cli.doctor.trial import Wrong


class Pooler:
    """Stands for PgBouncer in front of Postgres, as its manual describes it: no socket, no SQL, and of sessions only
    what they remember. `size` sessions of the server are shared out: in transaction mode for a transaction each, the
    one that was used last first, else for as long as a client is connected, which is what Postgres itself does, too.
    A client that leaves within a transaction takes its session with it. That PgBouncer does so is not proved here."""

    def __init__(self, size: int, by_transaction: bool) -> None:
        self.by_transaction, self.idle = by_transaction, [dict[str, str]() for _ in range(size)]
        self.changed = threading.Condition()

    def connect(self) -> Any:
        return Client(self)

    def take(self) -> dict[str, str]:
        with self.changed:
            assert self.changed.wait_for(lambda: self.idle, 10)
            return self.idle.pop()

    def give(self, session: dict[str, str]) -> None:
        with self.changed:
            self.idle.append(session)
            self.changed.notify()


class Client:
    """A connection to the pooler, with as much of psycopg's as the trial uses."""

    def __init__(self, pooler: Pooler) -> None:
        self.pooler, self.held, self.answer = pooler, None if pooler.by_transaction else pooler.take(), ("",)

    def execute(self, statement: str, parameters: Sequence[str] = ()) -> Client:
        session = self.pooler.take() if self.held is None else self.held
        if "set_config" in statement:
            session["mark"] = parameters[0]
        self.answer = (session.get("mark", ""),)
        if statement == "begin":
            self.held = session
        elif self.held is None:
            self.pooler.give(session)
        return self

    def fetchone(self) -> tuple[str]:
        return self.answer

    def close(self) -> None:
        if self.held is not None:
            self.pooler.give({})
            self.held = None


@pytest.mark.parametrize("size", [1, 2, 20])
def test_a_pooler_of_transactions_is_named(size: int) -> None:
    """With one session the look at the mark has to wait until the other connection is closed."""
    pooler = Pooler(size, by_transaction=True)
    with pytest.raises(Wrong, match="a pooler stands before the server") as wrong:
        transaction_pooler.check(pooler.connect(), pooler.connect, wait_seconds=0.2)
    assert "session mode" in wrong.value.remedy


def test_of_sessions_of_ones_own_nothing_is_said() -> None:
    pooler = Pooler(2, by_transaction=False)
    transaction_pooler.check(pooler.connect(), pooler.connect)
    assert len(pooler.idle) == 1
