"""A replay asked for by the command, beside a test: what became of it, its question, and its tasks in Airflow."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

import psycopg

from cli.approval_prompt import Question, answer, open_question
from kappa.airflow_api import Airflow, Run
from kappa.airflow_sign_in import embedded
from kappa.unavailable import Unreachable
from tests.integration.beside import beside
from tests.rigs.running_stack import Command, Stack

DAG = "reprocess_stream"
ANSWERER = "approver"
"""The command asks as the default person, who may not answer oneself."""
ASKING = frozenset({("approve", "awaiting_input"), ("approve", "deferred")})
"""A task that is run again after it had asked waits as a deferred one."""
SETTLED_SECONDS = 3.0
LONGEST_SECONDS = 900.0


@dataclass(frozen=True)
class Kept:
    """A replay as ops.replays has it."""

    replay_id: UUID
    run_id: str
    versions: dict[str, int]
    live: dict[str, int]
    validation: dict[str, Any] | None
    answer: str | None
    answered_by: str | None
    outcome: str | None

    def finding(self, job_table: str, expectation: str) -> dict[str, Any]:
        """What the validation found of one expectation."""
        found = [(one["suite"], one["expectation"]) for one in (self.validation or {})["results"]]
        return dict((self.validation or {})["results"][found.index((job_table, expectation))])


@dataclass
class Attempt:
    """A replay that the command follows on a thread; `reason` names it. The results are there once it has ended."""

    stack: Stack
    reason: str
    results: list[Command] = field(default_factory=list)

    @property
    def kept(self) -> Kept | None:
        """The replay, once its candidates are staged."""
        columns = "replay_id, run_id, versions, live, validation, answer, answered_by, outcome"
        rows = self.stack.query(f"select {columns} from ops.replays where reason = %s", self.reason)
        return Kept(*rows[0]) if rows else None

    @property
    def replay(self) -> Kept:
        """The replay, staged by now."""
        kept = self.kept
        assert kept is not None, f"'{self.reason}' has staged nothing: {self.results}"
        return kept

    @property
    def said(self) -> Command:
        """What the command did, which has ended."""
        assert self.results, f"'{self.reason}' goes on"
        return self.results[0]

    @property
    def run(self) -> Run:
        """Its run in Airflow."""
        return Run(DAG, self.replay.run_id, self.reason)

    def until_staged(self) -> Kept:
        """The replay, as soon as there is one."""
        self.stack.until(f"'{self.reason}' is staged or over", lambda: bool(self.kept or self.results), LONGEST_SECONDS)
        return self.replay

    def until_asked(self) -> Question:
        """The question whether to promote, once it has been open for some seconds: an answer within the one in which
        Airflow's executor tells its scheduler that the task pauses is lost, and the task asks anew."""
        seen: list[tuple[float, Question]] = []

        def asked() -> bool:
            question = self._question()
            seen[:] = [*seen, (time.monotonic(), question)] if question else []
            return bool(self.results) or (bool(seen) and seen[-1][0] - seen[0][0] >= SETTLED_SECONDS)

        self.stack.until(f"'{self.reason}' asks or is over", asked, LONGEST_SECONDS)
        assert seen, f"'{self.reason}' never asked: {self.results}"
        return seen[-1][1]

    def answer(self, option: str = "Approve") -> None:
        """Answer as soon as it is asked, as another user than the one who asked for the replay."""
        question = self.until_asked()
        answer(self._airflow, self.run, question, option)

    def clear(self, only_failed: bool) -> None:
        """Have the run's tasks run again."""
        body = {"dry_run": False, "only_failed": only_failed}
        self._airflow.of_run("to clear a run", "POST", self.run, "clear", body)

    def state(self) -> str:
        """The run's state in Airflow."""
        return self._airflow.look(self.run).state

    def tasks(self) -> list[tuple[str, str, str]]:
        """Its tasks that have begun and not ended, also before anything is staged: (task, state, id)."""
        query = (
            "select t.task_id, t.state, t.id::text from task_instance t join dag_run r using (dag_id, run_id) "
            "where r.conf::jsonb ->> 'reason' = %s and t.state in ('running', 'deferred', 'awaiting_input')"
        )
        with psycopg.connect(self.stack.settings.dsn("postgres", "airflow"), autocommit=True) as connection:
            return [(task, state, name) for task, state, name in connection.execute(query, [self.reason]).fetchall()]

    def _question(self) -> Question | None:
        if self.kept is None or ASKING.isdisjoint((task, state) for task, state, _ in self.tasks()):
            # A task that was killed leaves its question behind.
            return None
        try:
            return open_question(self._airflow, self.run)
        except Unreachable:
            return None

    @cached_property
    def _airflow(self) -> Airflow:
        return Airflow(embedded(self.stack.settings, ANSWERER))


@contextmanager
def reprocessing(
    stack: Stack, *jobs: str, reason: str, options: tuple[str, ...] = (), expect: int = 0
) -> Iterator[Attempt]:
    """A replay of jobs, one core each, while the body runs; its end is awaited after it."""
    attempt = Attempt(stack, reason)
    words = ("reprocess", *jobs, "--cores", "1", "--reason", reason, *options)
    with beside(lambda: attempt.results.append(stack.kappa(*words, expect=expect, timeout=LONGEST_SECONDS))):
        yield attempt
