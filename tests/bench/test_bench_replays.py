"""The stretches of a replay, its speed, what it costs the live jobs, and the words a command ends with."""

from __future__ import annotations

import json
from typing import Any

from bench.batches import Batch
from bench.live import Said
from bench.probes import latencies
from bench.replay import LONGEST_SPAN, ratios, span_seconds, speed
from bench.replays import phases, sentence, worked_off
from tests.faults.refusals import as_expected

MARKS = {
    "reprocess.planned": 100.0, "reprocess.launched": 110.0, "reprocess.caught_up": 200.0, "reprocess.validated": 220.0,
}  # fmt: skip


def batch(number: int, read: int) -> Batch:
    return Batch(number, "g1", read, read, 1000.0 * number)


def test_the_stretches_of_a_replay_follow_its_moments() -> None:
    assert phases(10.0, MARKS, first_ms=130.0, read_ms=180.0) == {
        "before": (10.0, 100.0), "during": (110.0, 200.0), "starting": (110.0, 130.0), "reading": (130.0, 180.0),
        "validating": (200.0, 220.0),
    }  # fmt: skip


def test_what_arrived_since_is_no_part_of_the_speed_of_a_replay() -> None:
    read = [batch(1, 60), batch(2, 40), batch(3, 5)]
    assert worked_off(read, expected=100) == read[:2]
    assert worked_off(read, expected=61) == read[:2]
    assert worked_off(read, expected=1_000) == read


def test_a_start_is_up_to_the_first_commit_and_no_part_of_how_fast_a_candidate_reads() -> None:
    live = {"records_per_second": 9, "warm_records_per_second": 800}
    figures = speed([batch(41, 100), batch(42, 300), batch(43, 500)], launched_ms=1_000.0, live=live)
    assert (figures["seconds_to_first_commit"], figures["seconds"]) == (40.0, 42.0)
    assert (figures["warm_records_per_second"], figures["times_live"]) == (400, 0.5)


def test_a_live_job_that_read_all_in_one_batch_is_compared_by_that() -> None:
    live = {"records_per_second": 800, "warm_records_per_second": None}
    assert speed([batch(1, 100), batch(2, 400)], launched_ms=0.0, live=live)["times_live"] == 0.5


def test_latencies_are_of_probes_appended_within_the_stretch() -> None:
    appended, seen = {"a": 10, "b": 20, "c": 30, "d": 25}, {"a": 15.0, "b": 26.0, "c": 90.0}
    assert latencies(appended, seen, 20, 30) == [6.0]
    assert latencies(appended, seen, 20) == [6.0, 60.0]


def test_the_ratio_is_of_the_p99_of_each_job() -> None:
    before, during = {"a": {"p99": 2_000.0}, "b": {"p99": None}}, {"a": {"p99": 3_000.0}, "b": {"p99": 1.0}}
    waits: dict[str, dict[str, Any]] = {"before": before, "during": during}
    assert ratios(waits) == {"a": 1.5, "b": None}


def test_no_record_of_the_preload_is_late_when_it_is_sent() -> None:
    assert span_seconds(300.0) < 300.0
    assert span_seconds(7_200.0) == LONGEST_SPAN


def test_a_run_s_words_are_its_outcomes() -> None:
    told = [{"sentence": "refused: a\n  b"}, {"sentence": "c"}]
    assert sentence(Said(1, json.dumps(told), "noise")) == "refused: a\n  b c"


def test_the_words_before_a_run_are_what_stderr_calls_an_error() -> None:
    assert sentence(Said(1, "", "built artifact x\nerror: no cores\nare free\n")) == "no cores\nare free"
    assert sentence(Said(2, "", "")) == "exit 2"


def test_a_danger_that_is_not_refused_or_touches_something_is_not_as_expected() -> None:
    refused, allowed = {"exit_code": 1, "untouched": True}, {"exit_code": 0}
    assert as_expected([refused, refused], allowed)
    assert not as_expected([refused, {"exit_code": 0, "untouched": True}], allowed)
    assert not as_expected([refused, {"exit_code": 1, "untouched": False}], allowed)
    assert not as_expected([refused], {"exit_code": 1})
