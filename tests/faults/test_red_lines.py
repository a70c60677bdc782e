"""What is red stays red until a batch was committed, says what is at the root, and where."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pytest

from jobs.transforms import fates
from jobs.transforms.fates import Rule
from tests.rigs.case import Case
from tests.rigs.events import event, events
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
POISON = "poison"


def break_at_poison(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pipeline raises at a record of that client, as decoding did before it was mended."""

    def broken(settings: Mapping[str, int], starts_at_ms: int | None) -> Rule:
        decide = whole(settings, starts_at_ms)

        def breaking(batch: pa.RecordBatch) -> pa.StringArray:
            if "poison" in batch.column("client_id").to_pylist():
                raise ValueError("Exceeds the limit (4300 digits) for integer string conversion")
            return decide(batch)

        return breaking

    whole = fates.rule
    monkeypatch.setattr(fates, "rule", broken)


def stuck(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Case:
    """A version that has read 20 records, and has a record before it that ends every query."""
    case = rig.case()
    case.produce(events(20))
    case.run_until_read()
    with monkeypatch.context() as broken:
        break_at_poison(broken)
        with case.driver() as program:
            case.produce([event(100, client_id=POISON, partition=1)])
            program.until("the red line", lambda: "query" in case.red(), 30)
    return case


def test_a_failure_loop_is_red_at_once_and_names_root_and_offsets(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    case = stuck(rig, monkeypatch)
    at, topic = case.progress()[1], case.settings.topic.name
    said = case.red()["query"]
    assert said.startswith("ValueError: Exceeds the limit (4300 digits) for integer string conversion - batch ")
    assert f"of topic {topic}: partition 1 offsets {at} to {at}; the query ended" in said


def test_it_stays_red_over_a_restart_until_a_batch_is_committed(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    case = stuck(rig, monkeypatch)
    since = case.query("select since from registry.red_line where what = 'query'")
    seen: list[bool] = []
    with monkeypatch.context() as broken:
        break_at_poison(broken)
        before = case.query("select epoch from registry.fence")[0]["epoch"]
        with case.driver() as program:

            def failed_again() -> bool:
                seen.append("query" in case.red())
                rows = case.query("select epoch from registry.fence")
                return rows[0]["epoch"] > before and "2 times" in case.red().get("query", "")

            program.until("two more failures", failed_again, 120)
    assert seen
    assert all(seen), "red at every look"
    assert case.query("select since from registry.red_line where what = 'query'") == since
    with case.driver() as program:
        program.await_read()
        program.until("the red line is gone", lambda: case.red() == {}, 30)


def test_a_start_after_giving_up_stays_red_until_it_commits_or_has_nothing_to_read(rig: Rig) -> None:
    case = rig.case()
    case.produce(events(20))
    case.run_until_read()
    case.query("update registry.job_version set state = 'LIVE'")
    case.query("insert into registry.red_line (job, version, what, detail) "
               "select job, version, 'failed', 'gave up' from registry.job_version")  # fmt: skip
    case.produce(events(5, 100))
    with case.driver() as program:
        program.await_read()
        program.until("the red line is gone", lambda: case.red() == {}, 30)
    case.query("insert into registry.red_line (job, version, what, detail) "
               "select job, version, 'failed', 'gave up' from registry.job_version")  # fmt: skip
    with case.driver() as program:
        program.until("nothing was unread", lambda: case.red() == {}, 60)


def test_a_take_over_proves_nothing(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    case = stuck(rig, monkeypatch)
    case.query("update registry.red_line set what = 'failed'")
    with monkeypatch.context() as broken:
        break_at_poison(broken)
        with case.driver() as program:
            program.until("it failed again", lambda: "query" in case.red(), 120)
            assert "failed" in case.red()
