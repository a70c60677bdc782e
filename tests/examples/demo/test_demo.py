"""`demo`: in which order its parts come, what ends it early, and what it says of where the log is laid."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
import typer
from typer.testing import CliRunner, Result

from examples.demo import command as demo
from examples.demo import replay as demo_replay
from examples.demo.play import Laid, Playing
from examples.demo.stage import Measured, Stage

pytestmark = pytest.mark.usefixtures("home")
LAID = Laid(1_700_000_000_000, 1_700_000_100_000, 1_700_007_360_000)


@pytest.fixture
def did(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The demo without a stack: its parts, in the order in which they came."""
    parts: list[str] = []
    settings = {"allowed_lateness_ms": 7_200_000, "click_interval_ms": 10_000}
    live = {job: SimpleNamespace(version=1, settings=settings) for job in demo_replay.JOBS}

    @contextmanager
    def playing(what: str, *_: object) -> Iterator[object]:
        parts.append(f"play {what}")
        yield object()

    @contextmanager
    def looking(*_: object) -> Iterator[None]:
        yield None

    stand_ins = {
        "bring_up": lambda _: parts.append("up"), "_deploy": lambda _: parts.append("deploy"),
        "_live": lambda _: live, "looking": looking, "playing": playing,
        "_first_half": lambda *_: parts.append("first half"), "_tell": lambda _: parts.append("tell"),
    }  # fmt: skip
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(demo, name, stand_in)
    monkeypatch.setattr("examples.demo.served.campaigns", lambda *_: {})
    monkeypatch.setattr(demo_replay, "check_rule", lambda _: parts.append("rule"))
    cluster = SimpleNamespace(capacity=lambda: SimpleNamespace(free_cores=3))
    monkeypatch.setattr(demo, "connect", lambda _: SimpleNamespace(cluster=cluster))
    monkeypatch.setattr(demo_replay, "check_cores", lambda free: parts.append(f"cores: {free}"))
    monkeypatch.setattr(demo_replay, "second_half", lambda stage: parts.append(f"second half, yes: {stage.yes}"))
    return parts


def run(*words: str) -> Result:
    """The command."""
    app = typer.Typer()
    demo.register(app)
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("yes", [False, True])
def test_the_rule_is_looked_at_before_anything_is_played_and_traffic_goes_on_through_both_halves(
    did: list[str], yes: bool
) -> None:
    assert run(*["--yes"] * yes).exit_code == 0
    assert did[:4] == ["up", "deploy", "rule", "cores: 3"]
    assert did[4:] == ["play the traffic beside", "first half", f"second half, yes: {yes}", "tell"]


def test_the_first_half_alone_changes_no_rule_and_needs_none(did: list[str]) -> None:
    run("--first-half")
    assert did == ["up", "deploy", "play the traffic beside", "first half", "tell"]


def test_it_is_said_where_the_log_is_laid_and_why() -> None:
    said = demo._laid_sentence(LAID, LAID.start_ms + 7_080_000)
    assert "22:13:20 to 22:15:00 UTC, 118 min ago" in said
    assert "become final while you watch" in said


def test_a_log_that_nobody_reads_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "PATIENCE_SECONDS", -1)
    monkeypatch.setattr("examples.demo.served.read_past", lambda *_: False)
    monkeypatch.setattr("examples.demo.served.freshness", lambda _: "")
    monkeypatch.setattr(Stage, "campaigns", lambda *_: {})
    monkeypatch.setattr(Stage, "played", lambda _: {})
    stage = Stage(cast("Any", None), cast("Any", None), LAID, {}, {}, Measured(), yes=False)
    with pytest.raises(demo.NotRead, match="the jobs have not read to its end"):
        demo._watch(stage, cast("Playing", SimpleNamespace(ended=True)), {})


def test_the_log_is_read_only_once_it_is_past_the_end_of_the_play(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[datetime] = []
    begun = datetime.now(UTC)

    def read_past(_: object, since: datetime, lateness_ms: object) -> bool:
        asked.append(since)
        return True

    monkeypatch.setattr("examples.demo.served.read_past", read_past)
    monkeypatch.setattr("examples.demo.served.freshness", lambda _: "")
    monkeypatch.setattr(Stage, "campaigns", lambda *_: {"all": (1, 0, 1)})
    monkeypatch.setattr(Stage, "played", lambda _: {})
    monkeypatch.setattr("time.sleep", lambda _: None)
    ends = iter([False, False, True])
    source = type("Source", (), {"ended": property(lambda _: next(ends))})()
    stage = Stage(cast("Any", None), cast("Any", None), LAID, {}, {}, Measured(), yes=False)
    assert demo._watch(stage, cast("Playing", source), {}) > 0
    assert len(asked) == 1
    assert asked[0] >= begun
