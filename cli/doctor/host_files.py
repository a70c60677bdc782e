"""Tries what a host has to have: the secrets, our jar for Spark, the folders and room in them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from cli.doctor.trial import Trial, Wrong
from kappa.core.installation.settings import ROLES, Settings
from kappa.core.store import check, places
from kappa.core.store.location import Location
from stack import disk
from stack.provisioning import role_secrets
from stack.provisioning.role_secrets import Host, HostRole
from stack.services import spark_jar

PART = "host"
FREE_BYTES = disk.NEEDED_BYTES
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def trials(settings: Settings) -> Iterator[Trial]:
    """Each secret's file, and that no other host's is there, the jar that keeps checkpoints where this host sees
    Spark's jars, the shared folder, the store where it is another, and the room in both folders."""
    for file in secret_files(settings):
        yield Trial(PART, f"secret {file.relative_to(settings.secrets)}", partial(_secret, file, settings))
    if host := role_secrets.of(settings.secrets):
        yield Trial(PART, "secrets of others", partial(_none_of_others, settings, host))
    if settings.jars.is_dir():
        yield Trial(PART, f"jar {spark_jar.JAR.name}", partial(_jar, settings))
    yield Trial(PART, f"shared folder {settings.shared}", partial(_shared, settings))
    if settings.places.store:
        yield Trial(PART, f"store {settings.store}", partial(_store, settings.store))
    for folder in dict.fromkeys((settings.home, *filter(Path.is_dir, [settings.shared]))):
        yield Trial(PART, f"room in {folder}", partial(_room, folder))


def secret_files(settings: Settings) -> list[Path]:
    """The files that this host needs, the same as on others that need them: by its roles where its folder says which
    they are, else those without which no verb can be carried out."""
    if host := role_secrets.of(settings.secrets):
        return [settings.secrets / name for name in sorted(role_secrets.files(settings, host))]
    return [*map(settings.passfile, ROLES), settings.spark_key, settings.spark_auth]


def wanted(settings: Settings) -> Callable[[str], bool]:
    """Whether what goes by a secret's file, or by none, can be tried on this host: its roles may not be given that."""
    host = role_secrets.of(settings.secrets)
    given = role_secrets.files(settings, host) if host else set()
    return lambda secret: not (host and secret) or secret in given


def _secret(file: Path, settings: Settings) -> str:
    if not file.exists():
        raise Wrong(f"{file} does not exist", _made(settings))
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & OTHERS:
        raise Wrong(f"{file} has mode {mode:04o}: others may read it", f"chmod 600 {file}, and make a new secret.")
    file.read_bytes()
    return "there, mode 0600"


def _made(settings: Settings) -> str:
    """Where a secret comes from."""
    if settings.is_embedded:
        return "'./kappa up' makes it."
    if host := role_secrets.of(settings.secrets):
        return f"Copy given/{host.name} from where the secrets are made, as their user, mode 0600."
    return "Copy it from the host that has it, as its user, mode 0600."


def _none_of_others(settings: Settings, host: Host) -> str:
    if more := sorted(role_secrets.of_others(settings, host)):
        raise Wrong(
            f"{', '.join(more)} in {settings.secrets}: no role of this host needs it",
            f"Delete it here; 'rsync --delete' of given/{host.name} does. What may have been read, make anew.",
        )
    return f"none: those of {host} only"


def _jar(settings: Settings) -> str:
    if spark_jar.is_in(settings.jars):
        return "of this release"
    ours, held = spark_jar.JAR, settings.jars / spark_jar.JAR.name
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
        if not _needs_shared(settings):
            return "not seen from here, and not needed: Spark's hosts need it, and who runs './kappa build'"
        raise Wrong(f"{folder} is no folder", "Mount it, or correct places.shared in the settings.")
    if not (settings.needs_shared or os.access(folder, os.W_OK)):
        return "there, to read: './kappa build' is for another host"
    return _store(places.at(folder))


def _needs_shared(settings: Settings) -> bool:
    """Whether this host does, for what is known of its roles."""
    host = role_secrets.of(settings.secrets)
    return settings.needs_shared or (host is not None and HostRole.SPARK_WORKER in host.roles)


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
