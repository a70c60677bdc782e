"""A finite program leaves its result whole, with the exit code that says whether another try makes sense."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import Mock
from uuid import UUID, uuid4

import pytest

from jobs import outcome, session
from jobs.outcome import Exit, ParentGone
from jobs.repartition import NotHeld, rescale, wait_until_held
from jobs.rescale.change_store import ChangeEnded, Generation
from kappa.core.changes import Change, Mark, Outcome, Phase, RunsAs
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.core.versions import Desired
from tests.rigs.checkpoint_folders import folder_of

CHANGE = str(uuid4())
RUNS_AS = RunsAs("a", {}, 1)


def _raising(error: BaseException) -> Outcome:
    raise error


def test_success_is_code_0_and_a_sentence() -> None:
    left: list[Outcome] = []
    code = outcome.carry_out(left.append, lambda: Outcome("done", {"rows": 3}))
    assert (code, int(Exit.DONE)) == (Exit.DONE, 0)
    assert left == [Outcome("done", {"rows": 3})]


@pytest.mark.parametrize(("error", "code"), [(Refusal("no"), 2), (ChangeEnded("it ended as undone"), 3)], ids=str)
def test_what_another_try_would_not_mend_has_a_code_of_its_own(error: Exception, code: int) -> None:
    left: list[Outcome] = []
    assert outcome.carry_out(left.append, lambda: _raising(error)) == code
    assert [one.is_no for one in left] == [True]
    assert str(error) in left[0].sentence


def test_what_may_pass_is_raised_and_told() -> None:
    left: list[Outcome] = []
    with pytest.raises(OSError, match="disk full"):
        outcome.carry_out(left.append, lambda: _raising(OSError("disk full")))
    assert [(one.ok, one.may_pass) for one in left] == [(False, True)]


def test_a_program_that_is_ended_leaves_nothing() -> None:
    left: list[Outcome] = []
    with pytest.raises(KeyboardInterrupt):
        outcome.carry_out(left.append, lambda: _raising(KeyboardInterrupt()))
    assert left == []


class FakeChangeStore:
    """A change whose phase moves on at each look, with a launch that stays open for the first `driven` of them."""

    def __init__(self, *phases: str, driven: int = 0) -> None:
        self._phases, self._driven, self.looks = list(phases), driven, 0

    def read(self) -> Change:
        """The next phase; the last one stays."""
        phase = self._phases[min(self.looks, len(self._phases) - 1)]
        self.looks += 1
        return Change(UUID(CHANGE), "ad_ctr", 1, "rescale", "run-1", Desired.RUNNING, RUNS_AS, RUNS_AS, Phase(phase))

    def is_driven(self) -> bool:
        """Whether the launch is still open."""
        return self.looks <= self._driven

    def mark(self, moment: Mark) -> None:
        """Not asked."""

    def generation(self, number: int) -> Generation | None:
        """Not asked."""

    def enter(self, made: Generation) -> None:
        """Not asked."""


def test_a_version_is_held_once_its_launch_has_ended() -> None:
    changes = FakeChangeStore("begun", "begun", "held", driven=5)
    wait_until_held(changes, lambda: None, poll=0)
    assert changes.looks == 6


@pytest.mark.parametrize("phase", ["undone", "done", "switched"])
def test_there_is_nothing_to_wait_for_once_the_change_went_on_without(phase: str) -> None:
    with pytest.raises(ChangeEnded, match=phase):
        wait_until_held(FakeChangeStore("begun", phase), lambda: None, seconds=1, poll=0)


def test_a_driver_that_does_not_end_is_not_waited_for_for_ever() -> None:
    with pytest.raises(NotHeld, match="its driver has not ended"):
        wait_until_held(FakeChangeStore("held", driven=10**9), lambda: None, seconds=0.01, poll=0)


def test_an_orphan_does_not_wait_on() -> None:
    """Its JVM was ended; it would hold the lock against its own successor."""
    with pytest.raises(ParentGone):
        wait_until_held(FakeChangeStore("begun"), lambda: outcome.check_parent(os.getppid() + 1), seconds=1, poll=0)
    outcome.check_parent(os.getppid())


def test_a_generation_that_may_be_run_on_is_not_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beginning it removes what is there; a switched version runs on it, whether it was entered or not."""
    monkeypatch.setattr(session, "create", lambda *_, **__: pytest.fail("Spark is not needed"))
    settings = Settings(home=tmp_path)
    folder = folder_of(settings.checkpoints("ad_ctr", 1) / f"g{RUNS_AS.generation}")
    folder.mkdir(parents=True)
    with pytest.raises(ChangeEnded, match="switched"):
        rescale(settings, "ad_ctr", 1, FakeChangeStore("switched"), Mock(), Mock())
    assert folder.is_dir()
