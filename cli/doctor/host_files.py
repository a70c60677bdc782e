"""Tries what a host has to have: the secrets, the jar that keeps checkpoints, the folders and room in them."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cli.doctor.trial import Trial, Wrong
from kappa.core.installation.settings import ROLES, Settings
from kappa.core.store import check, places
from kappa.core.store.location import Location
from stack import disk
from stack.services import checkpoint_files

PART = "host"
FREE_BYTES = disk.NEEDED_BYTES
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def trials(settings: Settings) -> Iterator[Trial]:
    """Each secret's file, the jar that keeps checkpoints where this host sees Spark's jars, the shared folder, the
    store where it is another, and the room in both folders."""
    for file in secret_files(settings):
        yield Trial(PART, f"secret {file.name}", partial(_secret, file, settings.is_embedded))
    if settings.jars.is_dir():
        yield Trial(PART, f"jar {checkpoint_files.JAR.name}", partial(_jar, settings))
    yield Trial(PART, f"shared folder {settings.shared}", partial(_shared, settings))
    if settings.places.store:
        yield Trial(PART, f"store {settings.store}", partial(_store, settings.store))
    for folder in dict.fromkeys((settings.home, settings.shared)):
        yield Trial(PART, f"room in {folder}", partial(_room, folder))


def secret_files(settings: Settings) -> list[Path]:
    """The files that each host needs, the same on all of them."""
    return [*map(settings.passfile, ROLES), settings.spark_key, settings.spark_auth]


def _secret(file: Path, embedded: bool) -> str:
    if not file.exists():
        made = "'./kappa up' makes it" if embedded else "Copy it from the host that has it, as its user, mode 0600"
        raise Wrong(f"{file} does not exist", f"{made}.")
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & OTHERS:
        raise Wrong(f"{file} has mode {mode:04o}: others may read it", f"chmod 600 {file}, and make a new secret.")
    file.read_bytes()
    return "there, mode 0600"


def _jar(settings: Settings) -> str:
    if checkpoint_files.is_in(settings.jars):
        return "of this release"
    ours, held = checkpoint_files.JAR, settings.jars / checkpoint_files.JAR.name
    remedy = "'./kappa up' puts it there." if settings.is_embedded else f"Copy {ours} to {held}."
    raise Wrong(f"{held} {'is of another release' if held.exists() else 'does not exist'}", remedy)


def _shared(settings: Settings) -> str:
    folder = settings.shared
    if not (settings.is_embedded or settings.places.shared):
        raise Wrong(
            "places.shared is not named, so it is this host's state folder: another host that has none at this path "
            "finds no artifact, jar or report",
            "Name the folder that every host sees at the same path; where all parts run on this one, "
            f'places.shared = "{folder}".',
        )
    if not folder.is_dir():
        raise Wrong(f"{folder} is no folder", "Mount it, or correct places.shared in the settings.")
    return _store(places.at(folder))


def _store(store: Location) -> str:
    for finding in check.check(store):
        raise Wrong(f"{finding.part}: {finding.wrong}", finding.remedy)
    return "put, list, read, second put refused, copy, delete"


def _room(folder: Path) -> str:
    free = disk.free_bytes(folder)
    if free < FREE_BYTES:
        least = f"{FREE_BYTES / 1e9:.0f} GB should be"
        raise Wrong(
            f"{free / 1e9:.1f} GB are free, and {least}", "Free some space, or move the folder to a larger disk."
        )
    return f"{free / 1e9:.0f} GB free"
