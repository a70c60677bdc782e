"""Python environments in the shared folder: what artifacts run with on hosts on which nothing of it is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kappa.code import known_artifacts
from kappa.code.artifacts import Artifact
from kappa.core import environment
from kappa.core.artifact_files import digest
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal

SHARED = "shared"
"""The value of `spark.python` by which drivers run with what `./kappa build` put into the shared folder."""
ROOTS = (
    "pyspark", "numpy", "pandas", "pyarrow", "msgspec", "psycopg[binary]", "kafka-python[lz4,snappy,zstd]", "tenacity",
    "psutil", "prometheus-client", "httpx", "tzdata",
)  # fmt: skip
"""What drivers and executors import."""
OPTIONAL = ("obstore",)
"""What they import where checkpoints lie in a bucket; taken along where it is here."""
LEFT_OUT = ("pyspark/jars/", "pyspark/examples/", "pyspark/data/")
"""Of Spark its classes are the host's."""


class NoEnvironment(Refusal):
    """Drivers are to run with an environment of the shared folder, and the artifact has none there."""

    def __init__(self, code: str, folder: Path) -> None:
        super().__init__(
            f"spark.python is '{SHARED}', but {folder} holds no environment with the packages of {code}. "
            "Where these are installed './kappa build' puts one there. Nothing was started."
        )


class EnvironmentBroken(Refusal):
    """An environment that was just made does not do what the one does that it was made from."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"the environment for Spark's hosts was not made: {problem}. Bring this one in order ('uv sync' with the "
            "commit's uv.lock), then run './kappa build' again. Nothing was put into the shared folder."
        )


def python_of(settings: Settings, artifact: Path) -> str:
    """The Python by which a program of an artifact, or of a copy of a checkout, runs on Spark's hosts; whether it is
    there is asked where this host sees the shared folder. Raises NoEnvironment, and as `known_artifacts.find`."""
    if settings.spark.python != SHARED:
        return settings.spark.python or sys.executable
    built = artifact.parent == settings.artifacts
    versions = known_artifacts.find(settings, artifact.name).environment if built else environment.present()
    python = _python(_folder(settings.shared, versions))
    if known_artifacts.sees_files(settings) and not python.exists():
        raise NoEnvironment(f"artifact {artifact.name}" if built else "this code", folder(settings.shared))
    return str(python)


def pack(shared: Path) -> tuple[Path, bool]:
    """The environment with the packages that are installed here, in the shared folder, and whether it had to be made:
    in one rename, and never changed; who asks again makes it young. Hosts need the same Python at the same path. Raises
    EnvironmentBroken."""
    target = _folder(shared, environment.present())
    if target.exists():
        target.touch()
        return target, False
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".build-") as scratch:
        made = Path(scratch) / target.name
        venv.create(made, symlinks=True, with_pip=False)
        packages = next(made.glob("lib/python*/site-packages"))
        for package in distributions((*ROOTS, *filter(_is_here, OPTIONAL))):
            _copy(package, packages)
        _check(_python(made))
        try:
            os.rename(made, target)
        except OSError:
            if not _python(target).exists():
                raise
    return target, True


def folder(shared: Path) -> Path:
    """Where all of them lie."""
    return shared / "environments"


def name(versions: Mapping[str, str]) -> str:
    """The name of the one with these versions, which is a digest of what decides numbers, as an artifact names it."""
    return digest(dict(versions))


def unused(shared: Path, artifacts: Iterable[Artifact]) -> list[Path]:
    """Those that none of these artifacts runs with."""
    used = {name(one.environment) for one in artifacts}
    return sorted(one for one in folder(shared).glob("[!.]*") if one.name not in used)


def distributions(wanted: Iterable[str]) -> Iterator[metadata.Distribution]:
    """What is installed of these requirements and of all that they need. Raises EnvironmentBroken."""
    left, seen = [Requirement(each) for each in wanted], set[tuple[str, frozenset[str]]]()
    given = set[str]()
    while left:
        asked = left.pop()
        name, extras = canonicalize_name(asked.name), frozenset(asked.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError as error:
            raise EnvironmentBroken(f"{name} is not installed here") from error
        needs = (Requirement(each) for each in found.requires or ())
        left += [need for need in needs if _applies(need, extras)]
        if name not in given:
            given.add(name)
            yield found


def _applies(need: Requirement, extras: Iterable[str]) -> bool:
    return need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ("", *extras))


def _is_here(name: str) -> bool:
    return any(metadata.distributions(name=name))


def _copy(package: metadata.Distribution, packages: Path) -> None:
    """Its files below site-packages: no scripts, nothing compiled by an interpreter."""
    for file in package.files or ():
        if file.parts[0] == ".." or str(file).startswith(LEFT_OUT) or "__pycache__" in file.parts:
            continue
        copy = packages / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.locate(), copy)


def _check(python: Path) -> None:
    """Raises EnvironmentBroken where it has other versions, or misses something that drivers import."""
    asked = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from kappa.core import environment; "
        "import pyspark.sql, pandas, pyarrow, psycopg, kafka, tenacity, psutil, prometheus_client, httpx; "
        "print(json.dumps(environment.present()))"
    )
    own = str(environment.OWN_CODE / "plugins")
    done = subprocess.run([str(python), "-P", "-c", asked, own], capture_output=True, text=True, env={}, check=False)
    if done.returncode:
        raise EnvironmentBroken((done.stderr.strip().splitlines() or ["Python said nothing"])[-1])
    if json.loads(done.stdout) != environment.present():
        raise EnvironmentBroken(f"it has {done.stdout.strip()}")


def _folder(shared: Path, versions: Mapping[str, str]) -> Path:
    return folder(shared) / name(versions)


def _python(environment_folder: Path) -> Path:
    return environment_folder / "bin" / "python"
