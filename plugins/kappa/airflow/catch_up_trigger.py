"""Waits until versions have caught up, or never will: one event, at one of the two ends, with the progress then."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from kappa.airflow.installation import settings_of_trigger
from kappa.platform import connect
from kappa.unavailable import Unreachable
from kappa.verbs.replay.catch_up import END_STATES, POLL_SECONDS, Pursuit, Watch
from kappa.verbs.replay.progress import Progress

TELL_SECONDS = 15.0


class CatchUpTrigger(BaseTrigger):
    """Yields one event: the progress (JSON) once it is ready or failing. The pursuit's deadline is absolute.

    What it knows it reads from outside at each look; made anew, or run twice, it comes to the same end. Where Postgres
    does not answer it asks again. Each look is made in a thread: the event loop is everybody's.
    """

    def __init__(self, pursuit: dict[str, Any], poll_seconds: float = POLL_SECONDS) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.pursuit, self.poll_seconds = pursuit, poll_seconds

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Class path and arguments; where the stack is, the triggerer finds in its own environment."""
        arguments = {"pursuit": self.pursuit, "poll_seconds": self.poll_seconds}
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look until there is an end to tell."""
        watch, told_at = await self.watch(), -TELL_SECONDS
        while True:
            try:
                progress = await asyncio.to_thread(watch.look)
            except Unreachable as problem:
                self.log.warning("asked again: %s", problem)
            else:
                if progress.state in END_STATES:
                    self._tell(progress)
                    yield TriggerEvent(progress.to_json())  # type: ignore[no-untyped-call]
                    return
                if time.monotonic() - told_at >= TELL_SECONDS:
                    told_at = time.monotonic()
                    self._tell(progress)
            await asyncio.sleep(self.poll_seconds)

    async def watch(self) -> Watch:
        """What looks; nothing is contacted yet."""
        return Watch(connect(await settings_of_trigger()), Pursuit.from_json(self.pursuit))

    def _tell(self, progress: Progress) -> None:
        self.log.info("%s", progress.sentence)
