"""The demo's second half: what it asks, who answers, how it ends early, and what it says of it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cli.approval_prompt import Always, Keys
from cli.follow import Outcome
from examples.demo import replay as demo_replay
from examples.demo.play import Laid
from examples.demo.replay import NotShown, NotTheOldNumbers, OtherRule
from examples.demo.served import Served
from examples.demo.stage import Measured, Stage
from kappa.core.job_catalog import find
from kappa.verbs.replay.candidate import NoFreeCores
from tests.plugins.registries import version

LAID = Laid(1_700_000_000_000, 1_700_000_100_000, 1_700_007_360_000)
DONE, FAILED = (Outcome("ad_ctr, client_spend", "run-1", good, "release 3: it moved.") for good in (True, False))


def live(interval_ms: int) -> dict[str, Any]:
    rule = {"click_interval_ms": interval_ms}
    return {job: replace(version(job, 4), settings=rule) for job in demo_replay.JOBS}


def test_only_the_rule_that_the_demo_changes_is_changed() -> None:
    demo_replay.check_rule(live(10_000))
    with pytest.raises(OtherRule, match=r"ad_ctr v4 counts one click per 30 s.*kappa rollback ad_ctr client_spend"):
        demo_replay.check_rule(live(30_000))


def test_what_an_earlier_demo_left_running_is_told_before_anything_is_played() -> None:
    demo_replay.check_cores(2)
    with pytest.raises(NoFreeCores, match="would take 2 cores of the cluster, and 1 are free"):
        demo_replay.check_cores(1)


def test_what_is_asked_is_told_as_it_is_typed() -> None:
    asked = demo_replay.request("c0de")
    assert demo_replay.typed(asked) == (
        "./kappa reprocess ad_ctr client_spend --from earliest --set click_interval_ms=30000 --parity declared "
        "--band clicks:down:667 --band click_micros:down:667 --cores 1 --reason "
        "'demo: one click per 30 s instead of 10 s'"
    )
    assert asked.catalogued() == tuple(find(job) for job in sorted(asked.jobs))


def test_the_wait_is_told_with_its_reason_and_never_below_zero() -> None:
    words = demo_replay.waiting(LAID, LAID.final_ms - 75_000, 7_200)
    assert words.startswith("the replay begins in 45 s: only final minutes are compared")
    assert "ends at 22:15:00 UTC" in words
    assert "2 h 00 min late" in words
    assert "begins in 0 s" in demo_replay.waiting(LAID, LAID.final_ms, 7_200)


def test_what_changed_is_shown_per_campaign_with_its_difference() -> None:
    before, after = ({"all": (9, 5, 50), "beside": (9, clicks, 10 * clicks)} for clicks in (7, 4))
    columns = [list(column.cells) for column in demo_replay.changes(before, after).columns]
    assert columns[:4] == [["all", "beside"], ["5", "7"], ["5", "4"], ["0", "3"]]


def test_a_validation_is_told_by_the_sums_that_may_differ() -> None:
    figures = {"live_clicks": 1200, "candidate_clicks": 1100, "live_click_micros": 5, "candidate_click_micros": None}
    said = demo_replay.validated({"compared_rows": 42, "comparisons": [{"job": "ad_ctr", "figures": figures}]})
    assert said.startswith("validated: 42 rows compared")
    assert said.endswith("ad_ctr clicks 1,200 -> 1,100, click_micros 5 -> 0")


def test_a_run_that_did_not_end_well_names_what_to_do() -> None:
    with pytest.raises(NotShown, match=r"release 3.*kappa audit --run run-1.*kappa rollback ad_ctr client_spend"):
        demo_replay._passed([DONE, FAILED])


class Half:
    """The second half without a stack: what it did, in order, and who answered."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: str, back_clicks: int = 9, outcome: Outcome = DONE):
        self.did: list[str] = []
        self.keys: list[Keys] = []
        self._answer, self._back, self._outcome, self._version = answer, back_clicks, outcome, 1
        replay = SimpleNamespace(
            answer=answer, answered_by="operator", versions={"ad_ctr": 2, "client_spend": 2},
            validation={"compared_rows": 1, "comparisons": []},
        )  # fmt: skip
        platform = SimpleNamespace(releases=SimpleNamespace(replay_of_run=lambda run_id: replay))
        price = SimpleNamespace(rows=lambda: [("records", "5")])
        for name, stand_in in {
            "_until_final": lambda stage: self.did.append("wait"), "connect": lambda _: platform,
            "plan_reprocess": lambda *_: SimpleNamespace(price=price),
        }.items():  # fmt: skip
            monkeypatch.setattr(demo_replay, name, stand_in)
        monkeypatch.setattr("cli.lifecycle_verbs.digest", lambda *_: "c0de")
        monkeypatch.setattr("cli.commands.lifecycle.reprocess.followed", self._replay)
        monkeypatch.setattr("cli.commands.lifecycle.promote.rolled_back", self._roll_back)
        monkeypatch.setattr(
            "cli.commands.lifecycle.retire.retired", lambda _, versions, reason: self._done(f"retire {versions}")
        )
        monkeypatch.setattr(Stage, "check", lambda _: self.did.append("check"))
        monkeypatch.setattr(Measured, "weigh", lambda *_: None)
        monkeypatch.setattr(Served, "note", lambda watch: self._note(watch))

    def play(self, yes: bool = False) -> None:
        settings = SimpleNamespace(home=SimpleNamespace())
        demo_replay.second_half(Stage(cast("Any", settings), cast("Any", None), LAID, {}, {}, Measured(), yes))

    def _note(self, watch: Served) -> int:
        watch.seen[self._version] = {"beside": (9, {1: 9, 2: 7, 3: self._back}[self._version], 0)}
        return self._version

    def _replay(self, _: object, asked: object, pressed: Keys, beside: object) -> list[Outcome]:
        self.keys.append(pressed)
        self._version = 2 if self._answer == "approved" else 1
        return self._done("replay")

    def _roll_back(self, *_: object) -> list[Outcome]:
        self._version = 3
        return self._done("roll back")

    def _done(self, what: str) -> list[Outcome]:
        self.did.append(what)
        return [self._outcome]


@pytest.fixture
def half(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(Served, "__post_init__", lambda self: setattr(self, "seen", {}))
    monkeypatch.setattr(demo_replay, "_tell_promoted", lambda *_: None)
    return lambda *given, **named: Half(monkeypatch, *given, **named)


def test_it_replays_promotes_rolls_back_and_leaves_nothing_checked_after_each_step(half: Any) -> None:
    played = half("approved")
    played.play(yes=True)
    assert played.did == [
        "wait", "replay", "check", "roll back", "check", "retire {'ad_ctr': 2, 'client_spend': 2}"
    ]  # fmt: skip


def test_a_rejection_is_an_end_too(half: Any) -> None:
    played = half("rejected", outcome=FAILED)
    played.play()
    assert played.did == ["wait", "replay", "check"]


def test_a_run_that_fails_ends_it(half: Any) -> None:
    played = half("approved", outcome=FAILED)
    with pytest.raises(NotShown):
        played.play()
    assert played.did == ["wait", "replay"]


def test_other_numbers_after_the_roll_back_are_refused(half: Any) -> None:
    played = half("approved", back_clicks=8)
    with pytest.raises(NotTheOldNumbers):
        played.play(yes=True)


@pytest.mark.parametrize(("there", "yes", "alone"), [(True, False, False), (True, True, True), (False, False, True)])
def test_whoever_sits_at_a_terminal_answers_unless_the_demo_is_to(
    half: Any, monkeypatch: pytest.MonkeyPatch, there: bool, yes: bool, alone: bool
) -> None:
    @contextmanager
    def keys() -> Any:
        yield Keys(0 if there else None)

    monkeypatch.setattr(demo_replay, "keys", keys)
    played = half("approved")
    played.play(yes=yes)
    assert isinstance(played.keys[0], Always) is alone
