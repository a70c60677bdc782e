"""Single keys from a terminal: one at a time, without Enter, and the terminal is given back as it was."""

from __future__ import annotations

import io
import os
import pty
import select
import termios
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from cli.approval_prompt import Keys, keys


class Terminal(io.StringIO):
    """Standard input or error that is a terminal."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    """A terminal of the test's own, as (who types, what the program reads)."""
    typed, read = pty.openpty()
    monkeypatch.setattr("cli.approval_prompt.sys", SimpleNamespace(stdin=Terminal(read), stderr=Terminal(read)))
    yield typed, read
    os.close(typed)
    os.close(read)


def next_key(held: Keys, terminal: int) -> str | None:
    """The next key, which the terminal may take a moment to hand on."""
    await_typed(terminal)
    return held.pressed()


def await_typed(terminal: int) -> None:
    """Wait until the terminal has handed on what was typed."""
    assert select.select([terminal], [], [], 10)[0], "the terminal has handed on nothing within 10 s"


def test_keys_come_one_by_one_and_what_is_forgotten_never(terminal: tuple[int, int]) -> None:
    with keys() as held:
        typed, read = terminal
        os.write(typed, b"ab")
        assert (held.there, next_key(held, read), next_key(held, read), held.pressed()) == (True, "a", "b", None)
        os.write(typed, b"c")
        await_typed(read)
        held.forget()
        assert held.pressed() is None


def test_the_terminal_is_given_back_as_it_was_whatever_happens(terminal: tuple[int, int]) -> None:
    before, meanwhile = termios.tcgetattr(terminal[1]), []

    def interrupted() -> None:
        with keys():
            meanwhile.append(termios.tcgetattr(terminal[1]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert meanwhile != [before]
    assert termios.tcgetattr(terminal[1]) == before


def test_where_no_terminal_is_nobody_presses_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.approval_prompt.sys", SimpleNamespace(stdin=io.StringIO("a"), stderr=io.StringIO()))
    with keys() as held:
        assert (held.there, held.pressed()) == (False, None)
