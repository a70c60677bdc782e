"""The artifacts that there are, as a host knows them: by their folders where it sees the shared folder, which Spark's
hosts have to; else by copies of their manifests in the store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress

from kappa.code import artifacts
from kappa.code.artifacts import Artifact
from kappa.core.environment import MANIFEST
from kappa.core.installation.settings import Settings
from kappa.core.store.location import Location


def sees_files(settings: Settings) -> bool:
    """Whether this host is to see artifacts, environments and jars themselves: it does, or cannot do without."""
    return settings.needs_shared or settings.artifacts.is_dir()


def known(settings: Settings) -> list[Artifact]:
    """All of them, the newest last. Raises StoreAway."""
    if sees_files(settings):
        return artifacts.known(settings.artifacts)
    return sorted(_published(settings), key=lambda artifact: artifact.created_at)


def find(settings: Settings, name: str) -> Artifact:
    """The one that `artifacts.chosen` chooses of them. Raises as that, StoreAway."""
    return artifacts.chosen(known(settings), name)


def find_whole(settings: Settings, name: str) -> Artifact:
    """The same, with its files as they were built where this host sees them: each program of an artifact looks at them
    as it starts, too. Raises TamperedArtifact, and as `find`."""
    artifact = find(settings, name)
    if sees_files(settings):
        artifacts.verify(artifact)
    return artifact


def publish(settings: Settings) -> None:
    """Copy the manifests that the store lacks into it, for hosts that do not see the shared folder; where all have to,
    there is nothing to do. Raises StoreAway."""
    if settings.needs_shared:
        return
    there = _place(settings).names()
    for artifact in artifacts.known(settings.artifacts):
        if (name := _name(artifact.digest)) not in there:
            (_place(settings) / name).write((artifact.folder / MANIFEST).read_bytes())


def forget(settings: Settings, gone: Iterable[str]) -> None:
    """Delete the copies of the manifests of these artifacts, which are gone. Raises StoreAway."""
    if not settings.needs_shared:
        _place(settings).remove(map(_name, gone))


def _published(settings: Settings) -> Iterator[Artifact]:
    for name in _place(settings).names():
        with suppress(FileNotFoundError):  # one that is deleted meanwhile
            held = json.loads((_place(settings) / name).read())
            yield Artifact.from_json({**held, "folder": str(settings.artifacts / held["digest"])})


def _place(settings: Settings) -> Location:
    return settings.store / "manifests"


def _name(digest: str) -> str:
    return f"{digest}.json"
