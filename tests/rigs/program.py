"""A driver's program in a thread of the test, and waiting for what it does."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from jobs import run
from jobs.driver.registry import DriverRegistry
from kappa.core.installation.settings import Settings
from stack.waiting import until
from tests.rigs.staged_driver import Staged

if TYPE_CHECKING:
    from tests.rigs.case import Case

PATIENCE_SECONDS = 400.0
"""For whatever must come; the machine may be busy."""
_STOP = "update registry.job_version set desired = 'stopped' where job = %s and version = %s"


class Program:
    """A driver's program from taking its version over to its end, in a thread; `exit_code` once it has ended."""

    def __init__(self, case: Case, staged: Staged, settings: Settings) -> None:
        self.case, self.staged, self.settings = case, staged, settings
        self.exit_code: int | None = None
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name=f"driver-{staged.job}", daemon=True)

    def await_read(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until the driver has committed all that is in the log now; fails the test if it ends before."""
        ends = self.case.ends()
        job = self.staged.job
        self.until(f"{job} reads up to {ends}", lambda: self.case.progress(job) == ends, seconds)

    def until(self, what: str, holds: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
        """Wait for something while the driver runs; fails the test with its name."""
        held = False

        def is_over() -> bool:
            nonlocal held
            held = holds()
            return held or not self.thread.is_alive()

        with self.case.one_connection():
            until(is_over, seconds)
        if not held and not holds():
            pytest.fail(f"not within {seconds:.0f} s: {what}\nended: {self.exit_code} {self.error!r} {self.case.red()}")

    def await_end(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait for the program to end by itself; fails the test if it does not."""
        self.thread.join(seconds)
        assert not self.thread.is_alive(), f"the driver has not ended within {seconds:.0f} s"

    def stop(self) -> None:
        """Ask for the end by the registry, as an operator would, and wait for it."""
        self.case.query(_STOP, self.staged.job, self.staged.version)
        self.await_end()
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        staged, settings = self.staged, self.settings
        registry = DriverRegistry(settings, staged.job, staged.version)
        told = argparse.Namespace(home=settings.home, job=staged.job, version=staged.version, launch=str(staged.launch))
        try:
            assert registry.claim(told.launch, staged.folder.name)
            self.exit_code = run._supervised(settings, registry, told, staged.folder.name)
        except BaseException as error:
            self.error = error
        finally:
            registry.close()
