"""Work on a thread of its own while a body runs: ended with the body, and what ended it before is not lost."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self


class Beside:
    """A context manager whose `work` goes on from enter to exit; it must look at `stopping` often."""

    def __init__(self, name: str) -> None:
        self.stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._failure: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raises what ended the work, unless the body has failed itself."""
        self.stopping.set()
        self._thread.join()
        if error is None:
            self.check()

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
