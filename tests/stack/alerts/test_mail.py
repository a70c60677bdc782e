"""A message by e-mail: it is delivered to a mail server on loopback, with its subject and its whole body."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from kappa.core.installation.alerts import Alerts
from kappa.core.installation.settings import Settings
from stack.alerts.targets import HIDDEN, read
from tests.stack.alerts.receiver import put_address

TITLE = "red: no driver reports: ad_ctr v1"
BODY = 'What: ad_ctr v1 silent: größer als 5 <s> & "mehr"\n  and 3 more\nNext: ./kappa repair ad_ctr --dry-run'


class MailServer:
    """One that takes a mail, as little SMTP as that needs (RFC 5321); whom it is for, and what it says, stay in it. It
    `refuses` everybody where it is told to."""

    def __init__(self, refuses: bool = False) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.refuses, self.to, self.mails = refuses, list[str](), list[bytes]()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        while True:
            try:
                caller, _ = self.socket.accept()
            except OSError:
                return
            with caller, caller.makefile("rwb", buffering=0) as lines:
                self._talk(lines)

    def _talk(self, lines: socket.SocketIO) -> None:
        lines.write(b"220 here\r\n")
        for line in lines:
            word = line[:4].upper()
            if word == b"RCPT":
                self.to.append(line.decode().strip().lower())
            if word == b"DATA":
                lines.write(b"354 go on\r\n")
                self.mails.append(b"".join(iter(lines.readline, b".\r\n")))
            refused = word == b"RCPT" and self.refuses
            lines.write(b"550 nobody of that name\r\n" if refused else b"250 ok\r\n")

    def close(self) -> None:
        """Nobody is served any more."""
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(10)


@pytest.fixture(params=[False])
def server(request: pytest.FixtureRequest) -> Iterator[MailServer]:
    """A mail server on a free port."""
    made = MailServer(request.param)
    yield made
    made.close()


def at(folder: Path, server: MailServer) -> Settings:
    """An installation that tells one target, by e-mail."""
    settings = Settings(folder / "state", alerts=Alerts(targets=("duty",)))
    address = f"mailto://127.0.0.1:{server.port}?from=kappa@example.com&to=duty@example.com"
    put_address(settings.secrets, "duty", address)
    return settings


def test_a_message_arrives_with_its_subject_and_its_whole_body(tmp_path: Path, server: MailServer) -> None:
    (target,) = read(at(tmp_path, server))
    answer = target.tell(TITLE, BODY)
    assert answer.taken, answer.said
    assert server.to == ["rcpt to:<duty@example.com>"]
    (raw,) = server.mails
    mail = message_from_bytes(raw, policy=policy.default)
    assert isinstance(mail, EmailMessage)
    assert mail["Subject"] == TITLE
    part = mail.get_body(("plain", "html"))
    assert part is not None
    assert part.get_content().replace("\r\n", "\n").strip() == BODY


@pytest.mark.parametrize("server", [True], indirect=True)
def test_a_mail_that_is_refused_is_not_taken_and_says_why(tmp_path: Path, server: MailServer) -> None:
    (target,) = read(at(tmp_path, server))
    answer = target.tell(TITLE, BODY)
    assert not answer.taken
    assert server.mails == []
    assert f'Sending email to "{HIDDEN}" failed.' in answer.said
    assert "550, b'nobody of that name'" in answer.said
    assert "duty@" not in answer.said


def test_a_mail_server_that_is_away_is_named_with_the_reason(tmp_path: Path) -> None:
    gone = MailServer()
    settings = at(tmp_path, gone)
    gone.close()
    (target,) = read(settings)
    answer = target.tell(TITLE, BODY)
    assert not answer.taken
    assert "Connection refused" in answer.said
