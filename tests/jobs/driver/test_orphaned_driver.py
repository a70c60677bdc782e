"""A driver does not outlive the process that started it, whatever it is at when that one is killed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from jobs.driver.ownership import Identity, Orphaned
from jobs.driver.query_loop import Driver
from kappa.core.installation.settings import Settings
from tests.jobs.held_log import VERSION


def test_whose_queries_fail_since_the_jvm_was_killed_tries_no_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused connection to the JVM is what any part that is away looks like."""
    attempts: list[Any] = []
    nothing: Any = None
    monkeypatch.setattr("jobs.driver.query_loop.time.sleep", lambda _: None)
    driver = Driver(Settings(home=tmp_path), VERSION, nothing, Identity("driver-1", 1, os.getpid()))

    def attempt(spark: Any) -> None:
        attempts.append(spark)
        assert len(attempts) < 5, "it tries for ever"

    monkeypatch.setattr(driver, "_attempt", attempt)
    with pytest.raises(Orphaned):
        driver._run_while_wanted(nothing)
    assert attempts == []
