"""What the watcher asks of a broker that does not answer: by one client, however long that lasts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError

from jobs.driver import watcher
from jobs.driver.watcher import Watcher


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


class Registry:
    """Takes whatever it is told."""

    def __init__(self, *_: object) -> None:
        pass

    def now_ms(self) -> int:
        return 0

    def close(self) -> None:
        pass


def test_a_client_that_got_no_answer_is_closed_before_the_next_one_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "KafkaLog", Silent)
    monkeypatch.setattr(watcher, "DriverRegistry", Registry)
    monkeypatch.setattr(Watcher, "_tell", lambda *_: None)
    given: Any = SimpleNamespace(
        job="ad_ctr",
        version=1,
        topic="t",
        desired="running",
        state="LIVE",
        start_offsets={},
        kafka_access=lambda user: None,
    )
    beat: Any = SimpleNamespace(jvm_pid=None, epoch=1)
    looking = Watcher(given, given, beat, lambda: None, lambda: "")  # type: ignore[arg-type,return-value]
    for _ in range(3):
        looking.look()
        assert Silent.open == 0
