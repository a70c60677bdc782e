"""The files of an artifact, and the digest that it is named by: a program of an artifact runs from these and no others.

Standard library only: the control plane reads it, too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from kappa.core import environment
from kappa.core.environment import MANIFEST
from kappa.core.refusals import Refusal

DIGEST_LENGTH = 16
KERNEL = Path("plugins", "kappa", "core")
"""What the jobs share with the rest of the system."""


class TamperedArtifact(Refusal):
    """An artifact's files are no longer those that its name stands for."""

    def __init__(self, folder: Path, found: str) -> None:
        super().__init__(
            f"the files in {folder} have the digest {found}: they were changed after the build, so "
            "nothing is started "
            f"from them. Remove that folder and run './kappa build' on the commit in its {MANIFEST}."
        )


def sources(root: Path) -> list[Path]:
    """The files that make up an artifact, at the same places as in a checkout: the jobs, and the kernel that they
    import."""
    package = (root / KERNEL.parent).glob("__init__.py")
    return sorted([*(root / "jobs").rglob("*.py"), *package, *(root / KERNEL).rglob("*.py")])


def digest(value: object) -> str:
    """The first 16 hex digits of the sha256 of a JSON value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


def tree_digest(root: Path, files: Iterable[Path]) -> str:
    """The digest of files by their path below `root` and their bytes."""
    return digest(sorted((file.relative_to(root).as_posix(), _sha256(file)) for file in files))


def name(root: Path, versions: Mapping[str, str]) -> str:
    """The digest of the sources and of what they run on; of the sources alone where that was not kept."""
    tree = tree_digest(root, sources(root))
    return digest([tree, dict(versions)]) if versions else tree


def verify(folder: Path, built: str, versions: Mapping[str, str]) -> None:
    """Pass where the files in this folder are those of the artifact `built`. Raises TamperedArtifact."""
    found = name(folder, versions)
    if found != built:
        raise TamperedArtifact(folder, found)


def check(code: Path | None = None) -> None:
    """Pass where the artifact in this folder (by default the one that this module is part of) is as it was built, and
    among what it was built with: who deployed it need not have seen its files, and they may have changed since.

    A checkout, which has no manifest, is not checked. Raises OtherEnvironment, TamperedArtifact.
    """
    folder = code or environment.OWN_CODE
    environment.check(folder)
    if (folder / MANIFEST).exists():
        held = json.loads((folder / MANIFEST).read_text())
        verify(folder, held["digest"], held.get("environment", {}))


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
