"""What the watcher does when a round fails: of a silent broker it asks by one client, and nothing ends its rounds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from kafka.errors import KafkaTimeoutError

from jobs.driver import watcher
from jobs.driver.watcher import Watcher
from kappa.core.kafka_log import Identity


class Silent:
    """A log whose broker never answers; `open` counts those that nobody has closed."""

    open = 0

    def __init__(self, *_: object) -> None:
        Silent.open += 1

    def ends(self) -> dict[int, int]:
        raise KafkaTimeoutError("no answer")

    def close(self) -> None:
        Silent.open -= 1
        raise KafkaTimeoutError("nor to a farewell")


class Empty:
    """A log without a record, which answers."""

    def __init__(self, *_: object) -> None:
        pass

    def ends(self) -> dict[int, int]:
        return {}

    def identity(self) -> Identity:
        return Identity("t-id", {})


class Registry:
    """Takes whatever it is told, and keeps what is red."""

    red: ClassVar[dict[str, str]] = {}

    def __init__(self, *_: object) -> None:
        pass

    def raise_red(self, what: str, said: str) -> None:
        Registry.red[what] = said

    def clear_red(self, what: str) -> None:
        Registry.red.pop(what, None)

    def note_ends(self, *_: object) -> None:
        pass

    def now_ms(self) -> int:
        return 0

    def close(self) -> None:
        pass


@pytest.fixture
def looking(monkeypatch: pytest.MonkeyPatch) -> Watcher:
    """A watcher whose registry is Registry."""
    monkeypatch.setattr(watcher, "DriverRegistry", Registry)
    given: Any = SimpleNamespace(
        job="ad_ctr",
        version=1,
        topic="t",
        topic_id="t-id",
        desired="running",
        state="LIVE",
        start_offsets={},
        kafka_access=lambda user: None,
    )
    beat: Any = SimpleNamespace(jvm_pid=None, epoch=1)
    return Watcher(given, given, beat, lambda: SimpleNamespace(next_offsets={}), lambda: "")  # type: ignore[arg-type,return-value]


def test_a_client_that_got_no_answer_is_closed_before_the_next_one_is_made(
    monkeypatch: pytest.MonkeyPatch, looking: Watcher
) -> None:
    monkeypatch.setattr(watcher, "KafkaLog", Silent)
    for _ in range(3):
        looking.look()
        assert Silent.open == 0


def test_whatever_goes_wrong_in_a_round_there_is_a_next_one_and_after_three_it_is_red(
    monkeypatch: pytest.MonkeyPatch, looking: Watcher
) -> None:
    def open_log(*_: object) -> Any:
        raise KeyError("nobody thought of this")

    monkeypatch.setattr(watcher, "KafkaLog", open_log)
    for _ in range(watcher.RED_AFTER_ROUNDS):
        looking.look()
        assert "watcher" not in Registry.red
    looking.look()
    assert Registry.red["watcher"].endswith("nobody thought of this'; lag is not told")
    monkeypatch.setattr(watcher, "KafkaLog", Empty)
    looking.look()
    looking.look()
    assert "watcher" not in Registry.red
