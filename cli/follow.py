"""Follow runs to their end: progress for people while they go, and one result each when they are over."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from kappa.airflow_api import RESULT_TASK, Airflow, Run, Seen
from kappa.core.refusals import Refusal
from kappa.core.serialization import Serializable
from kappa.registry.port import Registry
from kappa.unavailable import Unreachable
from stack.programs import LONGEST_START_SECONDS

Answer = TypeVar("Answer")
PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 3.0
PATIENCE_SECONDS = float(LONGEST_START_SECONDS)
PLAIN_SECONDS = 10.0
"""Without a terminal, what a watch says is printed no more often than this."""
QUIET_SECONDS = 300.0
"""And no more often than this where nothing but its numbers has changed."""
_NUMBERS = re.compile(r"\d[\d,.:]*(/s| ?%| (h|min|s)\b)?|\s")
MARKS = {"success": "[green]✓[/]", "failed": "[red]✗[/]", "running": "[cyan]…[/]"}
WORDS_OF_FAILURE = (".refused", ".failed")
WIRING = frozenset({"choose"})
"""Tasks that only say which way the run goes."""
UNSEEN = frozenset({"none", "skipped", "removed", "scheduled", "queued"})
"""States of a task that say nothing to somebody who waits: not begun, or of a branch that was not taken."""


class OutOfSight(Refusal):
    """Airflow stayed away, so a run is no longer followed; nothing is known of how it ends."""

    def __init__(self, run: Run, page: str, away: object) -> None:
        super().__init__(
            f"the run {run.run_id} is no longer followed: after {PATIENCE_SECONDS:.0f} s, {away} The run was not "
            f"ended; Airflow goes on with it as soon as it is up: {page}"
        )


@dataclass(frozen=True)
class Outcome(Serializable):
    """How a run ended, in one sentence."""

    job: str
    run_id: str
    success: bool
    sentence: str


class Watch(Protocol):
    """Tells more of a run while it goes than its tasks do."""

    def look(self, run: Run, seen: Seen) -> str | None:
        """What is to be said of the run now; nothing, mostly. May raise a Refusal, which says nothing."""


class Follower:
    """Watches runs together, on a terminal by one line each, elsewhere by a plain line per change."""

    def __init__(self, airflow: Airflow, registry: Registry, console: Console, watches: Sequence[Watch] = ()) -> None:
        self._airflow, self._registry, self._console, self._watches = airflow, registry, console, watches
        self._told: dict[tuple[Run, Watch], tuple[float, str]] = {}

    def follow(self, runs: Sequence[Run]) -> list[Outcome]:
        """The outcome of each run; an interruption leaves the runs as they are. Raises OutOfSight."""
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        plain = not self._console.is_terminal
        with Progress(*columns, console=self._console, disable=plain) as progress:
            lines = {run: progress.add_task(run.job, total=1) for run in runs}
            seen: dict[Run, Seen] = {}
            began = time.monotonic()
            while len(seen) < len(runs) or not all(s.ended for s in seen.values()):
                for run in runs:
                    if run not in seen or not seen[run].ended:
                        before, seen[run] = seen.get(run), self._asked(run, partial(self._airflow.look, run))
                        self._show(run, before, seen[run])
                        told = "".join(f"\n  {escape(words)}" for words in self._words(run, seen[run]))
                        shown = line(run, seen[run]) + told
                        progress.update(lines[run], description=shown, completed=seen[run].ended)
                time.sleep(pause(time.monotonic() - began))
        return [self._outcome(run, seen[run]) for run in runs]

    def _asked(self, run: Run, ask: Callable[[], Answer]) -> Answer:
        """Airflow's answer; it may be away for a while, the run does not mind. Raises OutOfSight."""

        def say(state: RetryCallState) -> None:
            if state.attempt_number == 1:
                self._console.print(f"{run.job}: Airflow does not answer; the run goes on once it does", markup=False)

        patient = Retrying(
            retry=retry_if_exception_type(Unreachable),
            stop=stop_after_delay(PATIENCE_SECONDS),
            wait=wait_fixed(PAUSE_SECONDS),
            before_sleep=say,
            reraise=True,
        )
        try:
            return patient(ask)
        except Unreachable as away:
            raise OutOfSight(run, self._airflow.page(run), away) from away

    def _show(self, run: Run, before: Seen | None, now: Seen) -> None:
        """Without a terminal: a line for each task that changed."""
        known: Mapping[str, str] = before.tasks if before else {}
        for task, state in begun(now).items():
            if not self._console.is_terminal and state != known.get(task):
                self._console.print(f"{run.job}: {task} {state}", highlight=False)

    def _words(self, run: Run, now: Seen) -> list[str]:
        """What the watches say; without a terminal it is printed, each watch's words at most every PLAIN_SECONDS."""
        heard: list[str] = []
        for watch in self._watches if not now.ended else ():
            words = _said(watch, run, now)
            if words is not None:
                heard.append(words)
                self._tell(run, watch, words)
        return heard

    def _tell(self, run: Run, watch: Watch, words: str) -> None:
        at, last = self._told.get((run, watch), (-PLAIN_SECONDS, ""))
        pause = QUIET_SECONDS if shape(words) == shape(last) else PLAIN_SECONDS
        if not self._console.is_terminal and words != last and time.monotonic() >= at + pause:
            self._told[run, watch] = (time.monotonic(), words)
            self._console.print(f"{run.job}: {words}", highlight=False, markup=False)

    def _outcome(self, run: Run, seen: Seen) -> Outcome:
        if seen.state == "success":
            said = self._asked(run, partial(self._airflow.result, run))
            return Outcome(run.job, run.run_id, True, said or f"{run.job}: done.")
        return Outcome(run.job, run.run_id, False, self._reason(run, seen))

    def _reason(self, run: Run, seen: Seen) -> str:
        """Why a run failed: what it left in the audit, else where to look."""
        failed = ", ".join(task for task, state in seen.tasks.items() if state == "failed") or "the run's time-out"
        where = f"{run.job}: {failed} failed; its log is at {self._airflow.page(run)}"
        try:
            entries = [e for e in self._registry.entries(run.run_id) if e.action.endswith(WORDS_OF_FAILURE)]
        except Refusal as refusal:
            return f"{where} ({refusal})"
        said = [str(e.evidence["sentence"]) for e in entries if "sentence" in e.evidence]
        return said[-1] if said else where


def pause(followed: float) -> float:
    """Seconds until the next look at runs that were followed for so long: to look costs Airflow as much as the run."""
    return min(max(PAUSE_SECONDS, followed / 20), LONGEST_PAUSE_SECONDS)


def shape(words: str) -> str:
    """What words say apart from their numbers."""
    return _NUMBERS.sub("", words)


def begun(seen: Seen) -> dict[str, str]:
    """The tasks that were begun, with their states; what waits, wiring and branches not taken are left out."""
    return {task: state for task, state in seen.tasks.items() if task not in WIRING and state not in UNSEEN}


def _said(watch: Watch, run: Run, now: Seen) -> str | None:
    """A watch's words; a part of the stack that is away for a while is no reason to stop following."""
    try:
        return watch.look(run, now)
    except Refusal:
        return None


def line(run: Run, seen: Seen) -> str:
    """A run's tasks that were begun, on one line."""
    tasks = [f"{task} {MARKS.get(state, '·')}" for task, state in begun(seen).items() if task != RESULT_TASK]
    return f"{run.job:<14} " + "  ".join(tasks)
