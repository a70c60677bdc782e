"""Of the superuser's passwords that by which Postgres goes stays in a file, wherever a rotation ends."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import psycopg
import pytest

from kappa.core.installation.settings import Settings
from kappa.unavailable import Unreachable
from stack import rotation, superuser_rotation
from stack.layout import Layout
from stack.services import passwords, postgres
from stack.services.passwords import SUPERUSER
from stack.superuser_rotation import Undecided, former
from stack.supervision import Supervisor


class Server:
    """Lets in who has its password; says that it has taken a new one, or takes it and is silent."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.word, self.answers = settings, passwords.password(settings, SUPERUSER), True

    def superuser(self, settings: Settings, file: Path | None = None) -> AbstractContextManager[None]:
        """A connection for the right password."""
        text = (file or settings.passfile(SUPERUSER)).read_text()
        if not text.endswith(f":{self.word}\n"):
            raise Unreachable("Postgres", "here", "password authentication failed")
        return Connection()

    def set_password(self, connection: object, role: str, word: str) -> None:
        """Taken, with or without an answer."""
        self.word = word
        if not self.answers:
            raise psycopg.OperationalError("the connection is lost")


class Connection(nullcontext[None]):
    """May be closed."""

    def close(self) -> None:
        """Closed."""


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A stack that has its secrets, and is taken for one that runs."""
    settings = Settings(home=tmp_path / "state")
    passwords.make(settings)
    monkeypatch.setattr(Supervisor, "running", lambda _: True)
    return Layout(settings, tmp_path)


@pytest.fixture
def server(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The stack's."""
    made = Server(layout.settings)
    monkeypatch.setattr(postgres, "superuser", made.superuser)
    monkeypatch.setattr(postgres, "set_password", made.set_password)
    return made


def killed(settings: Settings) -> Path:
    """The file, as a rotation leaves it that is killed before the server is told."""
    file = settings.passfile(SUPERUSER)
    passwords.write_private(former(file), file.read_text())
    passwords.write_role(settings, SUPERUSER)
    return file


def away(*_: object, **__: object) -> psycopg.Connection:
    """No server."""
    raise psycopg.OperationalError("connection refused")


def test_while_no_server_says_which_counts_neither_is_lost(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    right = layout.settings.passfile(SUPERUSER).read_text()
    file = killed(layout.settings)
    monkeypatch.setattr(psycopg, "connect", away)
    with pytest.raises(Undecided, match=rf"{file}.old .*delete none. Run ./kappa up"):
        rotation.rotate(layout, SUPERUSER)
    assert right in {each.read_text() for each in layout.settings.secrets.iterdir()}


def test_after_a_rotation_that_was_killed_the_next_one_begins_from_what_counts(layout: Layout, server: Server) -> None:
    file = killed(layout.settings)
    rotation.rotate(layout, SUPERUSER)
    assert passwords.password(layout.settings, SUPERUSER) == server.word
    assert not former(file).exists()


def test_a_password_that_was_taken_without_an_answer_is_kept(layout: Layout, server: Server) -> None:
    before, server.answers = server.word, False
    with pytest.raises(psycopg.OperationalError, match="is lost"):
        rotation.rotate(layout, SUPERUSER)
    assert before != server.word == passwords.password(layout.settings, SUPERUSER)
    assert not former(layout.settings.passfile(SUPERUSER)).exists()


@pytest.mark.rig
@pytest.mark.parametrize("told", [False, True])
def test_a_start_takes_the_one_that_opens(parts: Layout, told: bool) -> None:
    """Whether Postgres had been told of the new one when the rotation was killed."""
    with postgres.superuser(parts.settings) as connection:
        file = killed(parts.settings)
        if told:
            postgres.set_password(connection, SUPERUSER, passwords.password(parts.settings, SUPERUSER))
    new = file.read_text()
    assert superuser_rotation.settled(parts.settings)
    assert (file.read_text() == new) is told
    assert not former(file).exists()
