"""The artifacts that there are, as a host knows them: by their folders where it sees the shared folder, which Spark's
hosts have to; else by copies in the store, of each its manifest and a zip of all its files."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from kappa.code import artifacts
from kappa.code.artifacts import Artifact
from kappa.core import artifact_files
from kappa.core.environment import MANIFEST
from kappa.core.installation.settings import Settings
from kappa.core.store.location import Location

KNOWN, FILES = ".json", ".zip"
"""How the names of a copy's two files end; they begin with the digest."""


def sees_files(settings: Settings) -> bool:
    """Whether this host is to see artifacts, environments and jars themselves: it does, or cannot do without."""
    return settings.needs_shared or settings.artifacts.is_dir()


def known(settings: Settings) -> list[Artifact]:
    """All of them, the newest last. Raises StoreAway."""
    if sees_files(settings):
        return artifacts.known(settings.artifacts)
    return _published(settings)


def find(settings: Settings, name: str) -> Artifact:
    """The one that `artifacts.chosen` chooses of them. Raises as that, StoreAway."""
    if sees_files(settings):
        return artifacts.find(settings.artifacts, name)
    # Each manifest is a request: the others are read only for the words of a refusal.
    return artifacts.chosen(_published(settings, name) or _published(settings), name)


def find_whole(settings: Settings, name: str) -> Artifact:
    """The same, with its files as they were built where this host sees them: each program of an artifact looks at them
    as it starts, too. Raises TamperedArtifact, and as `find`."""
    artifact = find(settings, name)
    if sees_files(settings):
        artifacts.verify(artifact)
    return artifact


def source(settings: Settings, digest: str, path: str) -> str | None:
    """The text of one file of an artifact; None where there is none, as in artifacts of before it was written. Raises
    StoreAway."""
    try:
        if sees_files(settings):
            return (settings.artifacts / digest / path).read_text()
        packed = (_place(settings) / f"{digest}{FILES}").read()
        with zipfile.ZipFile(io.BytesIO(packed)) as files:
            return files.read(path).decode()
    except (FileNotFoundError, KeyError):
        return None


@contextmanager
def at_hand(settings: Settings, artifact: Artifact) -> Iterator[Artifact]:
    """The artifact with its files, as they were built, in a folder that this host sees for as long as the body runs.
    Raises TamperedArtifact, StoreAway."""
    if sees_files(settings):
        artifacts.verify(artifact)
        yield artifact
        return
    packed = (_place(settings) / f"{artifact.digest}{FILES}").read()
    with tempfile.TemporaryDirectory(prefix="kappa-artifact-") as folder, zipfile.ZipFile(io.BytesIO(packed)) as files:
        files.extractall(folder)
        unpacked = replace(artifact, folder=Path(folder))
        artifacts.verify(unpacked)
        yield unpacked


def publish(settings: Settings) -> None:
    """Copy into the store what it lacks, for hosts that do not see the shared folder; where all have to, there is
    nothing to do. Raises StoreAway."""
    if settings.needs_shared:
        return
    place = _place(settings)
    there = place.names()
    for artifact in artifacts.known(settings.artifacts):
        if f"{artifact.digest}{KNOWN}" not in there:
            # Whoever knows of it finds its files.
            (place / f"{artifact.digest}{FILES}").write(_packed(artifact.folder))
            (place / f"{artifact.digest}{KNOWN}").write((artifact.folder / MANIFEST).read_bytes())


def forget(settings: Settings, gone: Iterable[str]) -> None:
    """Delete the copies of these artifacts, which are gone. Raises StoreAway."""
    if not settings.needs_shared:
        _place(settings).remove(f"{digest}{end}" for digest in gone for end in (KNOWN, FILES))


def _published(settings: Settings, begins: str = "") -> list[Artifact]:
    """Those in the store whose digest begins so, the newest last."""
    place, found = _place(settings), list[Artifact]()
    for name in place.names():
        if name.startswith(begins) and name.endswith(KNOWN):
            with suppress(FileNotFoundError):  # one that is deleted meanwhile
                held = json.loads((place / name).read())
                found.append(Artifact.from_json({**held, "folder": str(settings.artifacts / held["digest"])}))
    return sorted(found, key=lambda artifact: artifact.created_at)


def _packed(folder: Path) -> bytes:
    """A zip of all files of an artifact."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as files:
        for file in artifact_files.sources(folder):
            files.write(file, file.relative_to(folder))
    return packed.getvalue()


def _place(settings: Settings) -> Location:
    return settings.store / "artifacts"
