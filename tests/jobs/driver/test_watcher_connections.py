"""The watcher's rounds: what it notes of the log, and that nothing that goes wrong ends them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from kafka.errors import KafkaTimeoutError

from jobs.driver import watcher
from jobs.driver.watcher import Watcher
from kappa.core.installation.program_output import MOST_BYTES
from kappa.core.log.kafka_log import Identity

READ = {0: 7, 1: 3}


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

    def unsettled(self) -> frozenset[int]:
        return frozenset()


class Read(Empty):
    """A log of two partitions, of which `READ` was read."""

    def ends(self) -> dict[int, int]:
        return dict(READ)


class Short(Read):
    """One of its partitions holds records behind its end."""

    def unsettled(self) -> frozenset[int]:
        return frozenset({1})


class Cut(Read):
    """One of its partitions ends before what was read."""

    def ends(self) -> dict[int, int]:
        return {**READ, 0: READ[0] - 1}


class MadeAgain(Read):
    """Another topic of the same name."""

    def identity(self) -> Identity:
        return Identity("another", {})


class Registry:
    """Takes whatever it is told, and keeps what is red."""

    red: ClassVar[dict[str, str]] = {}
    drained: ClassVar[list[list[int]]] = []

    def __init__(self, *_: object) -> None:
        pass

    def raise_red(self, what: str, said: str) -> None:
        Registry.red[what] = said

    def clear_red(self, what: str) -> None:
        Registry.red.pop(what, None)

    def note_ends(self, _: object, drained: list[int]) -> None:
        Registry.drained.append(drained)

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
        start_offsets={0: 0, 1: 0},
        kafka_access=lambda user: None,
    )
    beat: Any = SimpleNamespace(jvm_pid=None, epoch=1)
    return Watcher(given, given, beat, lambda: SimpleNamespace(next_offsets=READ), lambda: "")  # type: ignore[arg-type,return-value]


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


@pytest.mark.parametrize(
    ("log", "noted"), [(Read, [[0, 1]]), (Short, [[0]]), (Cut, [[1]]), (MadeAgain, [])],
    ids=["all is read", "more may have been appended", "the log lost its end", "it is another log"],
)  # fmt: skip
def test_that_nothing_is_unread_is_noted_only_where_it_is_known(
    monkeypatch: pytest.MonkeyPatch, looking: Watcher, log: type[Empty], noted: list[list[int]]
) -> None:
    """From then on windows are final: what comes to light later would change them."""
    monkeypatch.setattr(watcher, "KafkaLog", log)
    monkeypatch.setattr(Registry, "drained", [])
    monkeypatch.setattr(Registry, "red", {})
    looking.look()
    assert Registry.drained == noted


def test_it_cuts_what_its_own_process_has_printed_whatever_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(watcher, "KafkaLog", Silent)
    (tmp_path / "stderr").write_bytes(b"x" * (MOST_BYTES + 1))
    request.getfixturevalue("looking").look()
    assert (tmp_path / "stderr").stat().st_size == 0
    assert (tmp_path / "stderr.1").stat().st_size == MOST_BYTES
