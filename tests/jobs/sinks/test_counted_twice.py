"""An executor is lost with its part of a batch: Spark runs a stage again, and counts what it had counted before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobs.sinks import observations
from jobs.transforms.tally import Observed, Tally
from tests.faults.recoveries import served
from tests.rigs.events import events
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig


def twice(seen: Observed) -> Observed:
    """As Spark adds the metrics of a stage that is run again to those of the first time."""
    impressions, clicks = (Tally(2 * t.records, 2 * t.micros) for t in (seen.impressions, seen.clicks))
    return replace(seen, read=2 * seen.read, impressions=impressions, clicks=clicks)


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each batch that is computed from now on, whether a stage of it was run again; the first one's was."""
    observe = observations.of_running_batch
    held: list[bool] = []

    def observed(*given: Any) -> Observed:
        held.append(not held)
        return twice(observe(*given)) if held[-1] else observe(*given)

    monkeypatch.setattr(observations, "of_running_batch", observed)
    return held


@pytest.mark.fault("F25", "'a stage was run again after an executor was lost'; the batch is run again, exact")
def test_a_batch_that_was_counted_twice_is_run_again(
    rig: Rig, stages: list[bool], caplog: pytest.LogCaptureFixture
) -> None:
    case = rig.case()
    case.produce(events(30))
    with case.driver() as program:
        program.await_read()
        assert (case.state(), program.error) == ("LIVE", None)
        program.until("nothing is red", lambda: not case.red())
    assert stages[:2] == [True, False]
    assert "30 offsets, but 60 records were counted: a stage was run again after an executor was lost" in caplog.text
    case.check()


@pytest.mark.usefixtures("stages")
def test_a_batch_that_read_more_than_the_database_misses_is_no_such_case(rig: Rig) -> None:
    """Of another history: the checkpoint no longer ends where the database does, so it is no use to run it again."""
    case = rig.case()
    case.produce(events(30))
    case.run_until_read()
    with case.driver() as program:
        program.until("it runs", lambda: len(case.query("select 1 from registry.driver_start")) == 2)
        case.query("update registry.progress set next_offset = next_offset + 1")
        before = served(case)
        case.produce(events(30, 100))
        program.await_end()
    assert case.state() == "FAILED"
    assert "checkpoint" in case.red()["failed"]
    assert served(case) == before
