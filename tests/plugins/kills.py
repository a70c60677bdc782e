"""A process that is killed around or within one of its calls to what lies outside of it, and the loops over all of
them, and over some."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Any, TypeVar

import psycopg
from psycopg.rows import tuple_row

from kappa.core.log.kafka_log import Log
from kappa.platform import Platform
from tests.plugins.stages import AnyStage
from tests.plugins.watched import Watched

Staged = TypeVar("Staged", bound=AnyStage)
ACTS = {"cluster.submit", "cluster.kill"}
"""The calls of fakes that change something; what those to Postgres do, the transaction says."""
_WROTE = "select pg_current_xact_id_if_assigned() is not null"


class Killed(BaseException):
    """The process was killed."""


@dataclass
class Death:
    """A process that dies around its call number `at` to any port (None: never): before it, `after` it, or `within` it,
    once so many statements of it were made, the last time when all were and nothing is committed yet.

    `calls` are those that it made, by port and method; `statements` how often it could have died within each; `acts`
    after how many statements of it each call that changed something had done so first. What is dead calls nothing any
    more: what a `finally` would have done, a killed process does not do.
    """

    at: int | None = None
    after: bool = False
    within: int | None = None
    calls: list[str] = field(default_factory=list)
    statements: list[int] = field(default_factory=list)
    acts: dict[int, int] = field(default_factory=dict)
    struck: bool = False

    def call(self, name: str, act: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Make a call, or die around it."""
        if self.struck:
            raise Killed
        due = len(self.calls) == self.at
        if name in ACTS:
            self.acts[len(self.calls)] = 0
        self.calls.append(name)
        self.statements.append(0)
        self.struck = due and not self.after and self.within is None
        if self.struck:
            raise Killed
        try:
            return act(*arguments, **named)
        finally:
            if due:
                self.struck = True
                raise Killed

    def watch(self, connection: psycopg.Connection[Any]) -> None:
        """Look at a transaction of a call before each of its statements and before its end, or die there: the server
        hears nothing more of it, not even a good-bye."""
        here = len(self.calls) - 1
        if here == self.at and self.statements[here] == self.within:
            with socket.socket(fileno=os.dup(connection.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)
            connection.close()
            self.struck = True
            raise Killed
        (wrote,) = psycopg.Cursor(connection, row_factory=tuple_row).execute(_WROTE).fetchall()
        if wrote[0]:
            self.acts.setdefault(here, self.statements[here])
        self.statements[here] += 1

    @contextmanager
    def process(self, platform: Platform) -> Iterator[Platform]:
        """The platform for a process that dies so; its death ends the `with`."""

        @contextmanager
        def open_log() -> Iterator[Any]:
            opened: AbstractContextManager[Log] = self.call("log.open", platform.open_log)
            with opened as log:
                yield Mortal("log", log, self)

        names = ("registry", "cluster", "releases")
        ports: dict[str, Any] = {name: Mortal(name, self._seen(getattr(platform, name)), self) for name in names}
        try:
            yield replace(platform, open_log=open_log, **ports)
        except Killed:
            platform.clock.sleep(1)

    def _seen(self, port: Any) -> Any:
        return port.watched_by(self.watch) if isinstance(port, Watched) else port

    @property
    def moment(self) -> str:
        """When it died, for people."""
        if not self.struck:
            return f"the process lived, after {len(self.calls)} calls"
        when = "after" if self.after else "before" if self.within is None else f"{self.within} statements into"
        return f"the process was killed {when} call {self.at}, {self.calls[-1]}"


class Mortal:
    """A port in front of another, for a process that dies around one of its calls."""

    def __init__(self, name: str, inner: Any, death: Death) -> None:
        self._name, self._inner, self._death = name, inner, death

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            return self._death.call(f"{self._name}.{name}", getattr(self._inner, name), *arguments, **named)

        return call


def killed_anywhere(stages: Callable[[], Staged], trial: Callable[..., None], *how: Any) -> set[str]:
    """Make a trial whose process is killed around its first call, then one around the second, and so on, until one is
    not reached any more, each on a stage of its own; the calls at which it died, by name."""
    unharmed = _tried(stages, trial, how, Death())
    died = []
    for at in count():
        before = _tried(stages, trial, how, Death(at))
        after = _tried(stages, trial, how, Death(at, after=True))
        if not before.struck and not after.struck:
            break
        died.append(after.calls[at])
    assert at == len(died) == len(unharmed.calls), "the last kill is beyond the last call of a run that is not killed"
    return set(died)


def killed_at_some(stages: Callable[[], Staged], trial: Callable[..., None], seed: int, calls: int = 8) -> list[Death]:
    """Make a trial whose process is killed around, and within, its first call, its last, and others drawn by the seed,
    so many together, each on a stage of its own; the deaths that it died.

    Those drawn change something: to die at a call that only looks is to die after the change before it.
    """
    chance = Random(seed)
    unharmed = _tried(stages, trial, (), Death())
    ends = {0, len(unharmed.calls) - 1}
    acts = sorted(unharmed.acts.keys() - ends)
    drawn = ends | set(chance.sample(acts, min(calls - len(ends), len(acts))))
    deaths = [death for at in sorted(drawn) for death in _deaths(unharmed, at, chance)]
    for death in deaths:
        _tried(stages, trial, (), death)
        assert death.struck, f"a run ended before call {death.at}, {unharmed.calls[death.at or 0]}"
    return deaths


def _deaths(unharmed: Death, at: int, chance: Random) -> Iterator[Death]:
    """The ways to die at a call; within it only once something was changed."""
    yield Death(at)
    if at in unharmed.acts and unharmed.statements[at]:
        yield Death(at, within=chance.randrange(unharmed.acts[at], unharmed.statements[at]))
    yield Death(at, after=True)


def _tried(stages: Callable[[], Staged], trial: Callable[..., None], how: tuple[Any, ...], death: Death) -> Death:
    try:
        trial(stages(), death, *how)
    except BaseException as error:
        error.add_note(death.moment)
        raise
    return death
