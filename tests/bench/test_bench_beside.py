"""What works beside a body ends with it, and its failure is the body's unless that has one of its own."""

from __future__ import annotations

import threading

import pytest

from bench.beside import Beside, StillAtWork


class Waiting(Beside):
    """Waits to be stopped; fails then, if it is told to."""

    def __init__(self, fails: bool) -> None:
        super().__init__("waiting")
        self.begun, self.fails, self.ended = threading.Event(), fails, False

    def work(self) -> None:
        """Wait."""
        self.begun.set()
        assert self.stopping.wait(30), "nobody asked it to end"
        self.ended = True
        if self.fails:
            raise OSError("the work failed")

    def await_end(self) -> None:
        """Wait for the thread's end."""
        self._thread.join(30)


class Deaf(Beside):
    """Ends when the test lets it, whoever asks."""

    def __init__(self) -> None:
        super().__init__("deaf", 0.1)
        self.over = threading.Event()

    def work(self) -> None:
        """Wait."""
        self.over.wait(30)


def test_it_works_until_the_body_ends() -> None:
    with Waiting(fails=False) as work:
        assert work.begun.wait(10)
        assert not work.ended
    assert work.ended


def test_its_failure_is_raised_at_the_end() -> None:
    with pytest.raises(OSError, match="the work failed"), Waiting(fails=True):
        pass


def test_the_bodys_own_failure_comes_first() -> None:
    with pytest.raises(ValueError, match="the body failed"), Waiting(fails=True):
        raise ValueError("the body failed")


def test_what_ended_the_work_before_is_said_with_the_bodys_own_failure() -> None:
    def fail_after(work: Waiting) -> None:
        work.stopping.set()
        work.await_end()
        raise ValueError("the body failed")

    with pytest.raises(ValueError, match="the body failed") as caught, Waiting(fails=True) as work:
        fail_after(work)
    assert caught.value.__notes__ == ["'waiting' had ended before: OSError('the work failed')"]


def test_work_that_does_not_end_is_not_waited_for_without_an_end() -> None:
    """Nor does its lateness hide what the body failed of."""
    with pytest.raises(StillAtWork, match=r"'deaf' .* still at work after 0\.1 s"), Deaf() as deaf:
        pass
    deaf.over.set()
    with pytest.raises(ValueError, match="the body failed"), Deaf() as deaf:
        raise ValueError("the body failed")
    deaf.over.set()
