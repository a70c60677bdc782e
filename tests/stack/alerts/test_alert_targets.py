"""Targets and their addresses: what is refused, what each answered, and that no address is ever shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kappa.core.installation.alerts import Alerts
from kappa.core.installation.settings import Settings
from stack.alerts.targets import NoAddress, PlainTarget, read
from tests.stack.alerts.receiver import SECRET, Receiver, put_address, receiver


@pytest.fixture
def hook() -> Iterator[Receiver]:
    """A webhook on loopback."""
    with receiver() as made:
        yield made


def at(folder: Path, *names: str, allow_plain: bool = False) -> Settings:
    """An installation that names these targets."""
    return Settings(folder / "state", alerts=Alerts(targets=names, allow_plain=allow_plain))


def test_a_target_takes_a_message(tmp_path: Path, hook: Receiver) -> None:
    settings = at(tmp_path, "duty")
    put_address(settings.secrets, "duty", hook.url)
    (target,) = read(settings)
    answer = target.tell("red: it burns", "What: a\nSince: b")
    assert answer.taken
    assert (hook.told[0]["title"], hook.told[0]["message"]) == ("red: it burns", "What: a\nSince: b")


@pytest.mark.parametrize("more", ["", "?overflow=truncate"])
def test_what_is_longer_than_a_chat_takes_is_sent_in_parts_unless_its_address_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    settings = at(tmp_path, "duty")
    sent: list[str] = []
    put_address(settings.secrets, "duty", f"discord://0123456789/abcdefghij{more}")
    (target,) = read(settings)

    def send(_: object, body: str, **_more: object) -> bool:
        sent.append(body)
        return True

    monkeypatch.setattr(type(target.notifier), "send", send)
    assert target.tell("red: it burns", "What: " + "a b " * 625).taken
    assert max(map(len, sent)) <= 2_000
    assert len(sent) == (1 if more else 2)


def test_what_a_target_answered_is_told_without_its_address(
    tmp_path: Path, hook: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    settings = at(tmp_path, "duty")
    put_address(settings.secrets, "duty", hook.url)
    hook.status = 403
    (target,) = read(settings)
    answer = target.tell("red: it burns", "What: it burns")
    assert not answer.taken
    assert "403" in answer.said
    assert SECRET not in answer.said + caplog.text


def test_a_target_that_is_away_says_so(tmp_path: Path) -> None:
    settings = at(tmp_path, "duty")
    put_address(settings.secrets, "duty", "json://127.0.0.1:1/hook")
    (target,) = read(settings)
    answer = target.tell("red: it burns", "What: it burns")
    assert (answer.taken, answer.said) == (False, "A Connection error occurred sending JSON notification to 127.0.0.1.")


def test_a_target_without_an_address_is_refused_by_its_file(tmp_path: Path) -> None:
    settings = at(tmp_path, "duty")
    with pytest.raises(NoAddress, match=r"alert_duty\.url.*docs/alerts\.md"):
        read(settings)
    put_address(settings.secrets, "duty", f"nothing://{SECRET}")
    with pytest.raises(NoAddress, match="no address of apprise") as refused:
        read(settings)
    assert SECRET not in str(refused.value)


def test_an_address_that_others_may_read_is_refused(tmp_path: Path) -> None:
    settings = at(tmp_path, "duty")
    put_address(settings.secrets, "duty", "json://127.0.0.1:1/hook").chmod(0o644)
    with pytest.raises(NoAddress, match="others may read"):
        read(settings)


@pytest.mark.parametrize("url", ["json://hooks.example.com/x", "mailto://u:p@mail.example.com?to=a@example.com"])
def test_what_would_be_said_without_encryption_is_refused(tmp_path: Path, url: str) -> None:
    settings = at(tmp_path, "duty")
    put_address(settings.secrets, "duty", url)
    with pytest.raises(PlainTarget, match=r"alerts\.allow_plain") as refused:
        read(settings)
    assert "example.com" not in str(refused.value)
    assert len(read(at(tmp_path, "duty", allow_plain=True))) == 1


@pytest.mark.parametrize(
    "url",
    [
        "jsons://hooks.example.com/x",
        "mailtos://u:p@mail.example.com?to=a@example.com",
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general",
    ],
)
def test_what_is_encrypted_is_taken(tmp_path: Path, url: str) -> None:
    settings = at(tmp_path, "duty")
    put_address(settings.secrets, "duty", url)
    assert [target.name for target in read(settings)] == ["duty"]
