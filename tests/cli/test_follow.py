"""Following runs: plain lines without a terminal, and one sentence at the end of each."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import cast

import pytest
from rich.console import Console

from cli import follow as following
from cli.follow import Follower, Outcome
from kappa.airflow_api import Airflow, Run, Seen
from kappa.core.audit import Author, Entry
from kappa.core.refusals import Refusal
from kappa.unavailable import Unreachable
from stack.programs import LONGEST_START_SECONDS
from tests.plugins.fakes import FakeRegistry

RUN = Run("deploy_stream", "run-1", "ad_ctr")


@dataclass
class Scripted:
    """An Airflow that shows these states one after the other; a string is an outage, and so often it does not say what
    came of the run."""

    shown: list[Seen | str]
    said: str | None = None
    silent: int = 0
    looks: int = field(default=0)

    def look(self, run: Run) -> Seen:
        now = self.shown[min(self.looks, len(self.shown) - 1)]
        self.looks += 1
        if isinstance(now, str):
            raise Unreachable("Airflow", "here", now)
        return now

    def result(self, run: Run) -> str | None:
        if self.silent:
            self.silent -= 1
            raise Unreachable("Airflow", "here", "away")
        return self.said

    def page(self, run: Run) -> str:
        return "http://airflow/run-1"


def follow(airflow: Scripted, registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch) -> tuple[Outcome, str]:
    """The outcome, and what was printed."""
    monkeypatch.setattr(following, "PAUSE_SECONDS", 0.0)
    out = io.StringIO()
    (outcome,) = Follower(cast("Airflow", airflow), registry, Console(file=out)).follow([RUN])
    return outcome, out.getvalue()


def test_each_change_of_a_task_is_one_plain_line(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Seen | str] = [
        Seen("running", {"plan": "running", "stage": "none"}),
        Seen("running", {"plan": "running", "stage": "none"}),
        Seen("success", {"plan": "success", "stage": "success"}),
    ]
    outcome, printed = follow(Scripted(shown, "Deployed."), FakeRegistry(), monkeypatch)
    assert printed.splitlines() == ["ad_ctr: plan running", "ad_ctr: plan success", "ad_ctr: stage success"]
    assert outcome == Outcome("ad_ctr", "run-1", True, "Deployed.")


def test_what_was_not_begun_and_branches_not_taken_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Seen | str] = [
        Seen(
            "running",
            {"lease": "success", "choose": "success", "stage": "skipped", "begin": "running", "release": "none"},
        ),
        Seen("success", {"lease": "success", "stage": "skipped", "begin": "success", "release": "queued"}),
    ]
    _, printed = follow(Scripted(shown, "Deployed."), FakeRegistry(), monkeypatch)
    assert printed.splitlines() == ["ad_ctr: lease success", "ad_ctr: begin running", "ad_ctr: begin success"]
    first = shown[0]
    assert isinstance(first, Seen)
    assert following.line(RUN, first).split() == ["ad_ctr", "lease", following.MARKS["success"],
                                                  "begin", following.MARKS["running"]]  # fmt: skip


def test_an_outage_of_airflow_is_waited_out_and_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Seen | str] = [Seen("running", {}), "away", "away", Seen("success", {})]
    outcome, printed = follow(Scripted(shown, "Deployed."), FakeRegistry(), monkeypatch)
    assert outcome.success
    assert printed.splitlines() == ["ad_ctr: Airflow does not answer; the run goes on once it does"]


def test_a_run_is_followed_for_as_long_as_airflow_may_take_to_come_up() -> None:
    assert following.PATIENCE_SECONDS >= LONGEST_START_SECONDS


@pytest.mark.parametrize(("followed", "seconds"), [(0.0, 1.0), (20.0, 1.0), (40.0, 2.0), (60.0, 3.0), (3_600.0, 3.0)])
def test_what_lasts_is_looked_at_less_often(followed: float, seconds: float) -> None:
    assert following.pause(followed) == seconds


def test_an_airflow_that_stays_away_leaves_the_run_and_says_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(following.OutOfSight, match=r"run-1 is no longer followed: .*not ended.*http://airflow/run-1$"):
        follow(Scripted([Seen("running", {}), "away"]), FakeRegistry(), monkeypatch)


def test_an_outage_at_the_very_end_does_not_lose_the_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    airflow = Scripted([Seen("success", {})], "Deployed.", silent=1)
    outcome, _ = follow(airflow, FakeRegistry(), monkeypatch)
    assert (outcome.sentence, airflow.silent) == ("Deployed.", 0)


def test_a_failure_ends_with_the_sentence_in_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = FakeRegistry()
    by = Author("admin", "run-1")
    registry.record(Entry(by, "deploy.refused", "ad_ctr", None, {"sentence": "It is another version."}))
    outcome, _ = follow(Scripted([Seen("failed", {"plan": "failed"})]), registry, monkeypatch)
    assert outcome == Outcome("ad_ctr", "run-1", False, "It is another version.")


def test_a_later_failure_without_a_sentence_does_not_hide_the_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = FakeRegistry()
    by = Author("admin", "run-1")
    registry.record(Entry(by, "rescale.refused", "ad_ctr", 1, {"sentence": "It runs again as before."}))
    registry.record(Entry(by, "rescale.failed", "ad_ctr", 1))
    outcome, _ = follow(Scripted([Seen("failed", {"repartition": "failed"})]), registry, monkeypatch)
    assert outcome.sentence == "It runs again as before."


def test_a_failure_without_a_word_says_where_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, _ = follow(Scripted([Seen("failed", {"launch": "failed"})]), FakeRegistry(), monkeypatch)
    assert outcome.sentence == "ad_ctr: launch failed; its log is at http://airflow/run-1"


class Words:
    """A watch that says these words one after the other; a refusal is raised."""

    def __init__(self, *said: str | Refusal) -> None:
        self.said = list(said)

    def look(self, run: Run, seen: Seen) -> str | None:
        words = self.said.pop(0)
        if isinstance(words, Refusal):
            raise words
        return words


def test_what_a_watch_says_is_printed_once_and_again_only_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "PAUSE_SECONDS", 0.0)
    shown: list[Seen | str] = [*[Seen("running", {})] * 4, Seen("success", {})]
    watch, out = Words("1 of 9", Unreachable("Postgres", "here", "away"), "1 of 9", "[2] of 9"), io.StringIO()
    airflow = cast("Airflow", Scripted(shown, "Done."))
    (outcome,) = Follower(airflow, FakeRegistry(), Console(file=out), [watch]).follow([RUN])
    assert out.getvalue().splitlines() == ["ad_ctr: 1 of 9"]
    assert (outcome.success, watch.said) == (True, [])
    monkeypatch.setattr(following, "PLAIN_SECONDS", 0.0)
    monkeypatch.setattr(following, "QUIET_SECONDS", 0.0)
    watch = Words("1 of 9", "1 of 9", "[2] of 9", "[2] of 9")
    Follower(cast("Airflow", Scripted(shown)), FakeRegistry(), Console(file=out), [watch]).follow([RUN])
    assert out.getvalue().splitlines()[1:] == ["ad_ctr: 1 of 9", "ad_ctr: [2] of 9"]


def test_without_a_terminal_a_line_comes_when_something_has_changed_and_not_with_each_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(following, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(following, "PLAIN_SECONDS", 0.0)
    said = [
        "hydrating: its driver is starting, 9 records to read, by the plan ready in about 1 min 30 s",
        "hydrating: its driver is starting, 9 records to read, by the plan ready in about 59 s",
        "hydrating: 1,000 of 9,000 records (11%), 50/s, ready in about 2 min 40 s",
        "hydrating: 8,500 of 9,000 records (94%), 50/s, ready in about 10 s",
        "lagging: 8,999 of 9,000 records (100%), 50/s, nothing is unread",
    ]
    shown: list[Seen | str] = [*[Seen("running", {})] * len(said), Seen("success", {})]
    out = io.StringIO()
    Follower(cast("Airflow", Scripted(shown)), FakeRegistry(), Console(file=out, width=200), [Words(*said)]).follow(
        [RUN]
    )
    assert out.getvalue().splitlines() == [f"ad_ctr: {said[n]}" for n in (0, 2, 4)]
