"""Work on a thread of its own while a body runs: ended with the body, and what ended it before is not lost."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from kappa.core.refusals import Refusal

LONGEST_SECONDS = 1_800.0


class StillAtWork(Refusal):
    """The work did not end with the body."""

    def __init__(self, name: str, seconds: float) -> None:
        super().__init__(
            f"'{name}' was asked to end and is still at work after {seconds:g} s; it is waited for no more."
        )


class Beside:
    """A context manager whose `work` goes on from enter to exit; it must look at `stopping` often.

    Its end is waited for at most for so many seconds.
    """

    def __init__(self, name: str, ends_within: float = LONGEST_SECONDS) -> None:
        self.stopping, self._ends_within = threading.Event(), ends_within
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._failure: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raises what ended the work, or StillAtWork, unless the body has failed itself: then its error says, too, what
        ended the work before."""
        failed_before = self._failure
        self.stopping.set()
        self._thread.join(self._ends_within)
        if error is not None and failed_before is not None:
            error.add_note(f"'{self._thread.name}' had ended before: {failed_before!r}")
        if error is None:
            self.check()
            if self._thread.is_alive():
                raise StillAtWork(self._thread.name, self._ends_within)

    def work(self) -> None:
        """What is done beside the body."""
        raise NotImplementedError

    def check(self) -> None:
        """Raises what ended the work, if anything did."""
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            self.work()
        except BaseException as failure:
            self._failure = failure
