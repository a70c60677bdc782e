"""A new password of Postgres' superuser, whom nobody but himself can let in again: of the new one and the one before,
that by which Postgres goes is never thrown away."""

from __future__ import annotations

from pathlib import Path

from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.unavailable import Unreachable
from stack.services import passwords, postgres
from stack.services.passwords import SUPERUSER


class Undecided(Refusal):
    """Neither the superuser's file nor the one from before opened a connection."""

    def __init__(self, file: Path, former: Path) -> None:
        super().__init__(
            f"of the superuser's passwords in {file} and {former} Postgres goes by one, and neither opened a "
            "connection just now. Both were kept: delete none. Run ./kappa up, which takes the one that does."
        )


def former(file: Path) -> Path:
    """Where a secret's file lies as it was, until the new one counts."""
    return file.with_name(file.name + ".old")


def replace(settings: Settings) -> None:
    """By a connection that the old password opened: with the new file alone nobody would be let in."""
    with postgres.superuser(settings) as connection:
        passwords.write_role(settings, SUPERUSER)
        postgres.set_password(connection, SUPERUSER, passwords.password(settings, SUPERUSER))


def settle(settings: Settings) -> None:
    """After a rotation that did not end, of the file and the one from before keep that by which Postgres goes.

    Raises Undecided.
    """
    file = settings.passfile(SUPERUSER)
    if not former(file).exists():
        return
    if _opens(settings, file):
        former(file).unlink()
    elif _opens(settings, former(file)):
        former(file).replace(file)
    else:
        raise Undecided(file, former(file))


def settled(settings: Settings) -> bool:
    """Whether Postgres answers the superuser, once what a rotation left behind is settled."""
    try:
        settle(settings)
    except Undecided:
        return False
    return postgres.healthy(settings)


def _opens(settings: Settings, file: Path) -> bool:
    try:
        postgres.superuser(settings, file).close()
    except Unreachable:
        return False
    return True
