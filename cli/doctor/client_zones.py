"""Tries the clients' time zones: that none is an abbreviation to Postgres, which would cut days at the wrong hour."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cli.doctor.trial import Trial, Wrong
from kappa.core.installation.settings import Settings
from kappa.registry.clients import ClientBook

PART, ROLE = "Postgres", "kappa_registry"


def trials(settings: Settings) -> Iterator[Trial]:
    """The rows of all clients."""
    act = partial(_zones, ClientBook(settings.dsn(ROLE)))
    yield Trial(PART, "clients' time zones", act, settings.passfile(ROLE).name)


def _zones(book: ClientBook) -> str:
    wrong = [f"{row.client_id} from {row.valid_from} on: {row.time_zone}" for row in book.abbreviated()]
    if wrong:
        raise Wrong(
            f"to Postgres these are abbreviations without summer time: {'; '.join(wrong)}",
            "Say each again with a region: './kappa client set CLIENT --time-zone Europe/Berlin --currency CUR "
            "--valid-from DATE', with its date and budget; where settled days move, with --move-settled --reason TEXT.",
        )
    return "each is a region, or UTC"
