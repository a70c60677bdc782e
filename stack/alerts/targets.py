"""Who is told: targets with an address of the library apprise each, kept in a private file, never shown."""

from __future__ import annotations

import logging
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apprise
from apprise.plugins.email import NotifyEmail

from kappa.core.installation.addresses import is_loopback
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal

RED, OVER = apprise.NotifyType.FAILURE, apprise.NotifyType.SUCCESS
"""What chats show in red, and in green."""
NOT_TOLD = "it gave no reason"
HIDDEN = "(address)"
_REASON = "Socket Exception: "
"""How apprise begins what a mail server answered, or why it was not reached, at debug level; of others what follows may
be a secret address."""
_MAIL_ADDRESS = re.compile(r"""[^\s"'<>,;]+@[^\s"'<>,;]+""")


class NoAddress(Refusal):
    """A target that the settings name has no address, or one that is no address of apprise."""

    def __init__(self, name: str, file: Path, problem: str) -> None:
        super().__init__(
            f"alerts.targets names {name!r}, but {problem}. Put its address into {file} (mode 0600), one line such as "
            "jsons://hooks.example.com/kappa, mailtos://USER:PASSWORD@example.com?to=duty@example.com or one of a chat "
            "(docs/alerts.md). Nobody was told anything."
        )


class PlainTarget(Refusal):
    """A target would be told without encryption, at an address that is not loopback."""

    def __init__(self, name: str, schema: str) -> None:
        super().__init__(
            f"the target {name!r} has an address {schema}://..., which is not loopback and says everything "
            "unencrypted. Use the scheme's encrypted form (jsons://, mailtos://), or say that the network is trusted: "
            "alerts.allow_plain = true. Nobody was told anything."
        )


@dataclass(frozen=True)
class Answer:
    """What came of a message: whether the target took it, and what it said if not; no address is in it."""

    taken: bool
    said: str


@dataclass(frozen=True)
class Target:
    """One target by its name; its address is in `notifier`."""

    name: str
    notifier: apprise.NotifyBase

    def tell(self, title: str, body: str, kind: apprise.NotifyType = apprise.NotifyType.INFO) -> Answer:
        """Send one message, within apprise's bound of some seconds."""
        with _heard(isinstance(self.notifier, NotifyEmail)) as said:
            taken = bool(self.notifier.notify(body, title, kind, body_format=apprise.NotifyFormat.TEXT))
        return Answer(taken, "taken" if taken else _MAIL_ADDRESS.sub(HIDDEN, "; ".join(said)) or NOT_TOLD)


def read(settings: Settings) -> list[Target]:
    """The targets that the settings name, each with its address. Raises NoAddress, PlainTarget."""
    return [_target(settings, name) for name in settings.alerts.targets]


def address_file(settings: Settings, name: str) -> Path:
    """Where a target's address is kept."""
    return settings.secrets / f"alert_{name}.url"


def _target(settings: Settings, name: str) -> Target:
    file = address_file(settings, name)
    if not file.exists():
        raise NoAddress(name, file, "its file is not there")
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise NoAddress(name, file, "others may read its file (chmod 600)")
    address = file.read_text().strip()
    with _heard():
        notifier = apprise.Apprise.instantiate(address, suppress_exceptions=True)
    if not isinstance(notifier, apprise.NotifyBase):
        raise NoAddress(name, file, "what its file holds is no address of apprise")
    if schema := _plain(notifier, settings.alerts.allow_plain):
        raise PlainTarget(name, schema)
    if "overflow=" not in address:  # else a chat refuses what is longer than its limit, as often as it is tried
        notifier.overflow_mode = apprise.OverflowMode.SPLIT
    return Target(name, notifier)


def _plain(notifier: apprise.NotifyBase, allowed: bool) -> str | None:
    """The scheme of an address that says everything unencrypted to somewhere else; None for any other."""
    known: Any = notifier.protocol or ()
    plain = [known] if isinstance(known, str) else [str(each) for each in known]
    says_plainly = bool(plain) and not notifier.secure and not is_loopback(str(notifier.host or ""))
    return plain[0] if says_plainly and not allowed else None


@contextmanager
def _heard(with_reasons: bool = False) -> Iterator[list[str]]:
    """What apprise logs while the body runs, which is the only place where it says why something failed."""
    said: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            message = record.getMessage()
            if record.levelno >= logging.WARNING or (with_reasons and message.startswith(_REASON)):
                said.append(message.removeprefix(_REASON))

    ear, logger = Ear(), logging.getLogger("apprise")
    kept = logger.propagate, logger.level
    logger.addHandler(ear)
    logger.propagate = False
    logger.setLevel(logging.DEBUG)
    try:
        yield said
    finally:
        logger.removeHandler(ear)
        logger.propagate, level = kept
        logger.setLevel(level)
