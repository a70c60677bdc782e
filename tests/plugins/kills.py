"""A process that is killed around one of its calls to what lies outside of it, and the loop over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from kappa.ports import Platform

from jobs.log import Log


class Killed(BaseException):
    """The process was killed."""


@dataclass
class Death:
    """A process that dies around its call number `at` to any port (None: never), before the call or `after` it.

    `calls` are those that it made, by port and method. What is dead calls nothing any more: what a `finally` would
    have done, a killed process does not do.
    """

    at: int | None = None
    after: bool = False
    calls: list[str] = field(default_factory=list)
    struck: bool = False

    def call(self, name: str, act: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Make a call, or die around it."""
        if self.struck:
            raise Killed
        self.struck = len(self.calls) == self.at
        self.calls.append(name)
        if self.struck and not self.after:
            raise Killed
        try:
            return act(*arguments, **named)
        finally:
            if self.struck:
                raise Killed

    @contextmanager
    def process(self, platform: Platform) -> Iterator[Platform]:
        """The platform for a process that dies so; its death ends the `with`."""

        @contextmanager
        def open_log() -> Iterator[Any]:
            opened: AbstractContextManager[Log] = self.call("log.open", platform.open_log)
            with opened as log:
                yield Mortal("log", log, self)

        names = ("registry", "cluster", "releases")
        ports: dict[str, Any] = {name: Mortal(name, getattr(platform, name), self) for name in names}
        try:
            yield replace(platform, open_log=open_log, **ports)
        except Killed:
            platform.clock.sleep(1)

    @property
    def moment(self) -> str:
        """When it died, for people."""
        if not self.struck:
            return f"the process lived, after {len(self.calls)} calls"
        return f"the process was killed {'after' if self.after else 'before'} call {self.at}, {self.calls[-1]}"


class Mortal:
    """A port in front of another, for a process that dies around one of its calls."""

    def __init__(self, name: str, inner: Any, death: Death) -> None:
        self._name, self._inner, self._death = name, inner, death

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            return self._death.call(f"{self._name}.{name}", getattr(self._inner, name), *arguments, **named)

        return call


def killed_anywhere(trial: Callable[[Death], None]) -> set[str]:
    """Make a trial whose process is killed around its first call, then one around the second, and so on, until one is
    not reached any more; the calls at which it died, by name. A trial makes its world anew."""
    unharmed = Death()
    _tried(trial, unharmed)
    died = []
    for at in count():
        before, after = Death(at), Death(at, after=True)
        _tried(trial, before)
        _tried(trial, after)
        if not before.struck and not after.struck:
            break
        died.append(after.calls[at])
    assert at == len(died) == len(unharmed.calls), "the last kill is beyond the last call of a run that is not killed"
    return set(died)


def _tried(trial: Callable[[Death], None], death: Death) -> None:
    try:
        trial(death)
    except BaseException as error:
        error.add_note(death.moment)
        raise
