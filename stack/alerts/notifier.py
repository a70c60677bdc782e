"""Tells who is to be told: takes looks in, decides which incidents open and end, and delivers the messages."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from kappa.core.installation.alerts import Alerts
from kappa.status.causes import MEANINGS
from stack.alerts import outbox, wording
from stack.alerts.incidents import Change, Incident, decide
from stack.alerts.judge import Judge
from stack.alerts.memory import Memory, MemoryFile
from stack.alerts.outbox import Letter
from stack.alerts.targets import OVER, RED, Target
from stack.alerts.wording import Installation
from stack.monitor.look import Look

logger = logging.getLogger("kappa.alerts")


class Notifier:
    """Takes one look after another in, as `judge` sees it. All that it knows is in the file once `take` or `deliver` is
    back."""

    def __init__(
        self, alerts: Alerts, where: Installation, targets: Sequence[Target], file: MemoryFile, judge: Judge
    ) -> None:
        self._alerts, self._where, self._file, self._judge = alerts, where, file, judge
        self._targets = {target.name: target for target in targets}
        self.memory = file.read()
        logger.info("incidents are told to %s", ", ".join(self._targets))

    def take(self, seen: Look) -> Change:
        """Decide what a look changed, and put what is to be told into the outbox."""
        judged = self._judge.judge(seen)
        change = decide(self.memory.book, judged.found, judged.unknown, seen.at)
        letters = [*self._letters(change.opened, seen.at), *self._letters(change.over, seen.at, is_over=True)]
        for letter in letters:
            logger.info("to %s: %s", letter.target, letter.title)
        self._remember(Memory(change.book, outbox.post(self.memory.outbox, letters), judged.starts))
        return change

    def deliver(self, at: float) -> None:
        """Try what is due, each target once."""
        for letter in outbox.due(self.memory.outbox, at):
            self._remember(replace(self.memory, outbox=self._tried(letter, at)))

    def _tried(self, letter: Letter, at: float) -> outbox.Outbox:
        target = self._targets.get(letter.target)
        if target is None:
            logger.warning("%s is no target any more; not told: %s", letter.target, letter.title)
            return outbox.delivered(self.memory.outbox, letter)
        answer = target.tell(letter.title, letter.body, OVER if letter.is_over else RED)
        logger.info("%s: %s (try %d): %s", letter.target, letter.title, letter.tries + 1, answer.said)
        if answer.taken:
            return outbox.delivered(self.memory.outbox, letter)
        return outbox.failed(self.memory.outbox, letter, at)

    def _letters(self, incidents: Iterable[Incident], at: float, is_over: bool = False) -> list[Letter]:
        return [
            self._letter(incident, target, at, is_over) for incident in incidents for target in self._alerts.targets
        ]

    def _letter(self, incident: Incident, target: str, at: float, is_over: bool) -> Letter:
        text = wording.ending(incident, self._where, at) if is_over else wording.opening(incident, self._where)
        return Letter(target, incident.number, is_over, *text, written=at, not_before=self._not_before(incident, at))

    def _not_before(self, incident: Incident, at: float) -> float:
        """When a message may go: at once, or after the quiet span if it can wait."""
        ends = self._alerts.quiet_until(datetime.fromtimestamp(at, UTC))
        return at if ends is None or MEANINGS[incident.cause].urgent else ends.timestamp()

    def _remember(self, memory: Memory) -> None:
        if memory != self.memory:
            self.memory = memory
            self._file.write(memory)
