"""Immutable code artifacts: built from a checkout, named by their digest, read back and verified."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kappa.code import digests
from kappa.core import artifact_files, environment
from kappa.core.artifact_files import KERNEL
from kappa.core.environment import MANIFEST
from kappa.core.job_catalog import JOBS, Job
from kappa.core.refusals import Refusal
from kappa.core.serialization import Serializable


class UnknownArtifact(Refusal):
    """No artifact of that digest was built."""

    def __init__(self, digest: str, known: list[str]) -> None:
        listed = ", ".join(known) or "none"
        super().__init__(f"there is no artifact '{digest}' (known: {listed}). Build one with './kappa build'.")


class AmbiguousArtifact(Refusal):
    """The beginning of a digest fits several artifacts."""

    def __init__(self, digest: str, known: list[str]) -> None:
        super().__init__(f"'{digest}' begins the digests of {', '.join(known)}: give more digits.")


class JobNotInArtifact(Refusal):
    """The artifact was built before the job was in the catalogue."""

    def __init__(self, digest: str, job: str) -> None:
        super().__init__(f"artifact {digest} has no job '{job}'. Build a newer one with './kappa build'.")


@dataclass(frozen=True)
class Code:
    """What of a job's code decides: `state_shape` its checkpoint, `result_code` its numbers; `parts` name what the two
    are made of (`digests.parts`), empty in an artifact that was built before they were kept."""

    state_shape: str
    result_code: str
    parts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Artifact(Serializable):
    """An artifact: its folder, digest, when and from which commit it was built, per job its code fingerprints, and the
    versions that it was built with (`environment.present`), empty in one from before they were kept."""

    folder: Path
    digest: str
    created_at: datetime
    commit: str | None
    jobs: Mapping[str, Code]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def driver(self) -> Path:
        """The driver's main file."""
        return self.folder / "jobs" / "run.py"

    def code(self, job: str) -> Code:
        """The fingerprints of one job's code. Raises JobNotInArtifact."""
        if job not in self.jobs:
            raise JobNotInArtifact(self.digest, job)
        return self.jobs[job]

    def to_json(self) -> dict[str, Any]:
        """What its manifest holds: all but its folder."""
        return {name: value for name, value in super().to_json().items() if name != "folder"}


def checkout_digest(checkout: Path) -> str:
    """The digest that an artifact of this checkout has, were it built here and now."""
    return artifact_files.name(checkout, environment.present())


def copy_sources(checkout: Path, folder: Path) -> list[Path]:
    """Copy the files that make up an artifact to the same places below a folder; their copies."""
    copies = []
    for file in artifact_files.sources(checkout):
        copy = folder / file.relative_to(checkout)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copies.append(shutil.copyfile(file, copy))
    return copies


def build(checkout: Path, artifacts: Path, now: datetime) -> Artifact:
    """The artifact of the checkout's code as it stands; made if it is not there yet, in one rename."""
    name = checkout_digest(checkout)
    if not (artifacts / name).exists():
        artifacts.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=artifacts, prefix=".build-") as scratch:
            folder = _fill(Path(scratch) / name, checkout, now)
            _put(folder, artifacts / folder.name)
            name = folder.name
    return find(artifacts, name)


def _fill(folder: Path, checkout: Path, now: datetime) -> Path:
    """Copy the sources and write the manifest; named by what was copied, should the checkout change
    meanwhile."""
    for copy in copy_sources(checkout, folder):
        copy.chmod(0o444)
    versions, fingerprints = environment.present(), {job.name: fingerprint(folder, job) for job in JOBS.values()}
    digest, created_at = artifact_files.name(folder, versions), now.astimezone(UTC)
    made = Artifact(folder, digest, created_at, _commit(checkout), fingerprints, versions)
    manifest = folder / MANIFEST
    manifest.write_text(json.dumps(made.to_json(), indent=2) + "\n")
    manifest.chmod(0o444)
    return folder.rename(folder.with_name(made.digest))


def fingerprint(root: Path, job: Job) -> Code:
    """The fingerprints of one job's code in a checkout, were it built here and now."""
    versions = environment.present()
    result, parts = digests.result_code(root, job, versions), digests.parts(root, job, versions)
    return Code(digests.state_shape(root, job), result, parts)


def _put(folder: Path, target: Path) -> None:
    """Move the finished folder to its name; another build of the same code may have been faster."""
    try:
        os.rename(folder, target)
    except OSError:
        if not (target / MANIFEST).exists():
            raise


def _commit(checkout: Path) -> str | None:
    """The checkout's git commit, marked when its jobs differ from it; None without git."""
    try:
        commit = _git(checkout, "rev-parse", "HEAD")
        return f"{commit}-dirty" if _git(checkout, "status", "--porcelain", "--", "jobs", str(KERNEL)) else commit
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(checkout: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(checkout), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def known(artifacts: Path) -> list[Artifact]:
    """All artifacts, the newest last."""
    manifests = artifacts.glob(f"[!.]*/{MANIFEST}")
    return sorted((_read(file) for file in manifests), key=lambda artifact: artifact.created_at)


def find(artifacts: Path, name: str) -> Artifact:
    """The artifact of this folder that `chosen` finds. Raises as that."""
    return chosen(known(artifacts), name)


def chosen(there: Sequence[Artifact], name: str) -> Artifact:
    """Of all artifacts, the newest last, the one of that digest, or the only one whose digest begins so; the newest
    when it is empty. Raises UnknownArtifact, AmbiguousArtifact."""
    if not name and there:
        return there[-1]
    fitting = [artifact for artifact in there if name and artifact.digest.startswith(name)]
    if not fitting:
        raise UnknownArtifact(name or "(newest)", [artifact.digest for artifact in there])
    if len(fitting) > 1:
        raise AmbiguousArtifact(name, [artifact.digest for artifact in fitting])
    return fitting[0]


def verify(artifact: Artifact) -> None:
    """Pass when the artifact's files are still what its name says. Raises TamperedArtifact."""
    artifact_files.verify(artifact.folder, artifact.digest, artifact.environment)


def _read(manifest: Path) -> Artifact:
    return Artifact.from_json({**json.loads(manifest.read_text()), "folder": str(manifest.parent)})
