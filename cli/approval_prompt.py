"""A run that waits for an answer: where to give it, and a key press that gives it through Airflow."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kappa.airflow_api import Airflow, AirflowRefused, Run, Seen
from kappa.airflow_sign_in import NoPassword, NotSignedIn, SignInRefused
from kappa.core.verb_steps import ReplayStep
from kappa.unavailable import Unreachable
from stack.services.passwords import APPROVER, PERSON


class Keys:
    """The keys that are pressed; never any where standard input is no terminal."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    @property
    def there(self) -> bool:
        """Whether anybody can press one."""
        return self._descriptor is not None

    def forget(self) -> None:
        """Drop what was pressed up to now."""
        if self._descriptor is not None:
            termios.tcflush(self._descriptor, termios.TCIFLUSH)

    def pressed(self) -> str | None:
        """The next key that was pressed, if one was."""
        if self._descriptor is None or not select.select([self._descriptor], [], [], 0)[0]:
            return None
        return os.read(self._descriptor, 1).decode(errors="replace") or None


class Always(Keys):
    """Keys of somebody who is not there: whenever one is waited for, it is this one."""

    def __init__(self, key: str) -> None:
        super().__init__(None)
        self._key = key

    @property
    def there(self) -> bool:
        """True: the key will be pressed."""
        return True

    def pressed(self) -> str | None:
        """The key."""
        return self._key


@contextmanager
def keys() -> Iterator[Keys]:
    """Keys one by one for as long as this lasts; then the terminal is as before. Ctrl-C still interrupts."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        yield Keys(None)
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield Keys(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


WAITING = "awaiting_input"
ANSWERS = {"a": "Approve", "r": "Reject"}
"""The keys, and the options of Airflow's approval."""

SignIn = Callable[[str | None], Airflow]
"""A session with Airflow as the embedded user of that name, or as who signed in. Raises NoPassword, NotSignedIn."""


@dataclass(frozen=True)
class Question:
    """What a task of a run asks."""

    task: str
    index: int


def open_question(airflow: Airflow, run: Run) -> Question | None:
    """The question of a run that nobody has answered, if there is one. Raises Unreachable, AirflowRefused."""
    return next((_question(asked) for asked in airflow.questions(run) if not asked["response_received"]), None)


def answer(airflow: Airflow, run: Run, question: Question, option: str) -> None:
    """Answer as the session's user. Raises Unreachable, AirflowRefused."""
    airflow.answer(run, question.task, question.index, option)


class Questions:
    """Watches for a question: says where it is answered and, where somebody can press a key, takes the answer.

    Who asked for the run may not approve it, so keys answer as another user of the embedded stack. Elsewhere only that
    user's own token is here, and somebody else has to answer.
    """

    def __init__(self, sign_in: SignIn, keys: Keys) -> None:
        self._sign_in, self._keys = sign_in, keys
        self._airflow: Airflow | None = None
        self._question: Question | None = None
        self._as: tuple[str, Airflow] | None = None
        self._said: str | None = None

    def look(self, run: Run, seen: Seen) -> str | None:
        """Where to answer while the run waits; a key that was pressed since is the answer."""
        if not waits(seen):
            self._question = self._said = None
            return None
        if self._question is None and not self._find(run):
            return None
        if self._as is not None and (option := ANSWERS.get(self._keys.pressed() or "")):
            self._answer(run, option)
        return self._said

    def _find(self, run: Run) -> bool:
        """Find the question and who can answer it from here; what was typed before it was asked is no answer."""
        self._airflow = self._airflow or self._sign_in(None)
        self._question = open_question(self._airflow, run)
        if self._question is None:
            return False
        other = self._other(self._airflow.user)
        self._as = other if self._keys.there else None
        self._keys.forget()
        where = f"{self._airflow.page(run)}/tasks/{self._question.task}/required_actions"
        self._said = waiting(self._airflow.user, where, other[0] if other else None, self._as is not None)
        return True

    def _other(self, asker: str) -> tuple[str, Airflow] | None:
        """Another user of the embedded stack than who asked, signed in; None on an Airflow of somebody else."""
        for user in (APPROVER, PERSON):
            if user != asker:
                try:
                    return user, self._sign_in(user)
                except NoPassword:
                    continue
        return None

    def _answer(self, run: Run, option: str) -> None:
        """Give the answer once; a refusal is shown, and the question stays."""
        assert self._question is not None
        assert self._as is not None
        user, session = self._as
        try:
            answer(session, run, self._question, option)
        except Unreachable as away:
            self._said = f"not answered: {away}"
        except (AirflowRefused, NotSignedIn, SignInRefused) as refused:
            self._as, self._said = None, str(refused)
        else:
            self._as, self._said = None, f"answered as {user}: {option}"


def waits(seen: Seen) -> bool:
    """Whether a task waits for a person; one that was run again after it had asked waits as a deferred one."""
    return WAITING in seen.tasks.values() or seen.tasks.get(ReplayStep.APPROVE) == "deferred"


def waiting(asker: str, where: str, other: str | None, keys: bool) -> str:
    """What is said while the run waits: who may answer, where and how; `other` is a user of the embedded stack."""
    said = f"waits to be approved or rejected by somebody else than {asker}, who asked: at {where}"
    if other is None:
        return f"{said}, signed in as another person"
    return f"{said}, signed in as {other}" + (f"; or here, as {other}: press a to approve, r to reject" if keys else "")


def _question(asked: dict[str, Any]) -> Question:
    task = asked["task_instance"]
    return Question(task["task_id"], task.get("map_index", -1))
