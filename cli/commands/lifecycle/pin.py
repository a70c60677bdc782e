"""The command `pin`: a version that is never retired, until the pin is taken away."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer

from cli import output
from cli.entry import settings
from cli.follow import Outcome
from cli.options import Json, Reason, VersionNumber, reason_or_asked
from kappa.core.audit import Author, in_place_id
from kappa.core.job_catalog import find
from kappa.platform import Platform, connect
from kappa.registry.port import UnknownVersion

VERB = "pin"


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command()(pin)


def pin(
    job: Annotated[str, typer.Argument(help="A job of the catalogue.")],
    version: VersionNumber,
    remove: Annotated[bool, typer.Option("--remove", help="Take the pin away.")] = False,
    reason: Reason = None,
    as_json: Json = False,
) -> None:
    """Keep a version from being retired, with its rows and state, until --remove."""
    name = find(job).name
    by = Author(getpass.getuser(), in_place_id(VERB, name), reason_or_asked(reason))
    act = taken_away if remove else pinned
    output.outcomes([Outcome(name, by.run_id, True, act(connect(settings()), name, version, by))], as_json)


def pinned(platform: Platform, job: str, version: int, by: Author) -> str:
    """Pin, and say so. Raises UnknownVersion, AlreadyRetired, Unreachable."""
    there = (job, version) in platform.releases.pins()
    platform.releases.pin(job, version, by)
    if there:
        return f"{job} v{version} was pinned already; nothing was changed."
    return f"{job} v{version} is pinned: nothing stops or retires it until './kappa pin {job} {version} --remove'."


def taken_away(platform: Platform, job: str, version: int, by: Author) -> str:
    """Take the pin away, and say so. Raises UnknownVersion, Unreachable."""
    if all(known.version != version for known in platform.registry.versions(job)):
        raise UnknownVersion(job, version)
    there = (job, version) in platform.releases.pins()
    platform.releases.unpin(job, version, by)
    if not there:
        return f"{job} v{version} was not pinned; nothing was changed."
    return f"{job} v{version} is no longer pinned; it is stopped and retired as the others are."
