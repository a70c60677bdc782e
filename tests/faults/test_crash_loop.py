"""What the bench does at each fault: whether it sends the record, and whether it must deploy the old artifact again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bench.live import Said
from kappa.core.installation.settings import Settings
from tests.faults import crash_loop
from tests.faults.crash_loop import Watch
from tests.faults.minutes import Sample
from tests.rigs.faults import Fault

OLD, NEW = "a" * 16, "b" * 16
WELL = Sample(0.0, "LIVE", "running", OLD[:8], 0.5, 3, 10, 1.0, None, 100)
OVER = replace(WELL, state="FAILED", artifact=NEW[:8], red=["failed"])


class Seen(Watch):
    """A watch that sees what it is told to after each command, and takes no time."""

    def __init__(self, ends: list[Sample], exits: list[int]) -> None:
        self.samples, self.events, self.commands = [WELL], [], list[tuple[str, ...]]()
        self._ends, self._exits = ends, exits

    def follow(self, until: Callable[[Sample], bool], seconds: float) -> None:
        """Nothing changes."""

    def beside(self, stack: Settings, *arguments: str) -> Said:
        self.commands.append(arguments)
        self.samples.append(self._ends.pop(0))
        return Said(self._exits.pop(0), '[{"sentence": "said"}]', "")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The stacks to which the record was sent."""
    found: list[Settings] = []
    monkeypatch.setattr(crash_loop, "send_poison", found.append)
    return found


@pytest.fixture
def stack(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


@pytest.mark.parametrize("fault", [Fault.START, Fault.TAKE_OVER])
def test_where_the_deployment_ends_with_the_old_artifact_nothing_is_mended(
    stack: Settings, sent: list[Settings], fault: Fault
) -> None:
    watch = Seen([WELL], [1])
    assert crash_loop.through(stack, watch, fault, (OLD, NEW), 1.0, 0.0) == ("said", None)
    assert watch.commands == [("deploy", "ad_ctr", "--artifact", NEW)]
    assert sent == []


@pytest.mark.parametrize("fault", [Fault.BATCHES, Fault.RECORD])
def test_what_gave_up_is_mended_by_the_old_artifact(stack: Settings, sent: list[Settings], fault: Fault) -> None:
    watch = Seen([OVER, WELL], [0, 0])
    assert crash_loop.through(stack, watch, fault, (OLD, NEW), 1.0, 0.0) == ("said", "said")
    assert [command[-1] for command in watch.commands] == [NEW, OLD]
    assert bool(sent) == (fault is Fault.RECORD)


def test_a_take_over_that_was_not_undone_is_mended_too(stack: Settings, sent: list[Settings]) -> None:
    watch = Seen([replace(WELL, artifact=NEW[:8]), WELL], [0, 0])
    crash_loop.through(stack, watch, Fault.TAKE_OVER, (OLD, NEW), 1.0, 0.0)
    assert [command[-1] for command in watch.commands] == [NEW, OLD]
    assert sent == []


def test_the_record_is_not_sent_to_code_that_was_not_deployed(stack: Settings, sent: list[Settings]) -> None:
    crash_loop.through(stack, Seen([WELL], [1]), Fault.RECORD, (OLD, NEW), 1.0, 0.0)
    assert sent == []
