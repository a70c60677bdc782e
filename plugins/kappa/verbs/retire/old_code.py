"""Remove code that no version runs or can go back to, and the packages that nothing but such code ran with."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from kappa.code import artifacts, environments, known_artifacts
from kappa.platform import Platform
from kappa.verbs.observation import living, open_changes

GONE = ".gone-"


def drop(platform: Platform, since: datetime) -> list[str]:
    """Remove artifacts that no version needs, but the newest, and environments that no artifact needs then; not what
    was built since. What was removed, in words.

    Each goes in one rename, so that nobody finds half of it. Killed anywhere and run again it ends the work. On a host
    that does not see the shared folder nothing is done: there './kappa build' does it, on one that does.
    """
    if not known_artifacts.sees_files(platform.settings):
        return []
    folder, shared, needed = platform.settings.artifacts, platform.settings.shared, _needed(platform)
    known = artifacts.known(folder)
    old = [one for one in known[:-1] if one.digest not in needed and one.created_at < since]
    known_artifacts.forget(platform.settings, [one.digest for one in old])
    said = _removed("artifacts that no version needs", [one.folder for one in old], folder)
    kept = [one for one in known if one not in old]
    unused = [one for one in environments.unused(shared, kept) if _built_at(one) < since]
    return [*said, *_removed("environments that no artifact needs", unused, environments.folder(shared))]


def _needed(platform: Platform) -> set[str]:
    """The artifacts of versions that are not retired, and of open changes."""
    versions = living(platform)
    changes = open_changes(platform, versions)
    return {one.artifact for one in versions} | {side.artifact for one in changes for side in (one.old, one.new)}


def _built_at(folder: Path) -> datetime:
    return datetime.fromtimestamp(folder.stat().st_mtime, UTC)


def _removed(what: str, folders: Iterable[Path], place: Path) -> list[str]:
    _clear(place)
    names = [folder.rename(place / f"{GONE}{folder.name}").name.removeprefix(GONE) for folder in folders]
    _clear(place)
    return [f"{what}: {', '.join(names)} removed"] if names else []


def _clear(place: Path) -> None:
    """Remove what has lost its name, also what a run that was killed left: it may have been built again since."""
    for rest in place.glob(f"{GONE}*"):
        shutil.rmtree(rest, ignore_errors=True)
