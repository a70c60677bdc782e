"""Fetches the jars of `jars.lock` by path and sha256, once a checkout, and links them into a state folder."""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import urllib.error
import urllib.request
import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from kappa.core.refusals import Refusal
from kappa.core.spark_environment import SPARK_JAR

LOCK = Path(__file__).with_name("jars.lock")
CENTRAL = "https://repo.maven.apache.org/maven2"
LOCK_NAME = ".lock"
TIMEOUT_SECONDS = 60
ATTEMPTS = 6
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 15.0


@dataclass(frozen=True)
class Jar:
    """A line of the lock file: `group` is the folder it goes to, `path` its place in a Maven repository."""

    group: str
    sha256: str
    size: int
    path: str

    @property
    def name(self) -> str:
        """File name without folders."""
        return self.path.rsplit("/", 1)[1]


class JarUnreachable(Refusal):
    """A jar could not be downloaded."""

    def __init__(self, url: str, problem: object) -> None:
        super().__init__(
            f"the jar {url} could not be downloaded ({problem}). Check the network, or name another Maven "
            "repository in KAPPA_MAVEN or as a mirror in ~/.m2/settings.xml. Jars that came are kept."
        )


class JarDamaged(Refusal):
    """A downloaded jar is not the one of the lock file."""

    def __init__(self, url: str, expected: str, actual: str) -> None:
        super().__init__(
            f"the jar {url} has sha256 {actual}, but the lock file says {expected}; it was not used. "
            "Check the repository that it comes from (KAPPA_MAVEN, ~/.m2/settings.xml)."
        )


def read(lock: Path = LOCK) -> list[Jar]:
    """All jars of a lock file: lines of group, sha256, bytes, path."""
    lines = (line.split() for line in lock.read_text().splitlines() if line.strip())
    return [Jar(group, sha256, int(size), path) for group, sha256, size, path in lines]


def repository(environment: Mapping[str, str]) -> str:
    """Base URL of the repository: KAPPA_MAVEN, else the user's Maven mirror, else Maven Central."""
    if chosen := environment.get("KAPPA_MAVEN"):
        return chosen.rstrip("/")
    settings = Path(environment.get("HOME", "/")) / ".m2" / "settings.xml"
    return (_mirror(settings) if settings.exists() else None) or CENTRAL


def fetch(jars: list[Jar], base: str, cache: Path, folders: Mapping[str, Path]) -> int:
    """Put every jar of these groups into the folder of its group; returns the bytes that were downloaded. Of several
    processes with the same cache one downloads, and the others wait for it.

    Raises JarUnreachable, JarDamaged.
    """
    wanted = [jar for jar in jars if jar.group in folders]
    for folder in (cache, *folders.values()):
        folder.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / LOCK_NAME), ThreadPoolExecutor(8) as pool:
        return sum(pool.map(lambda jar: _provide(jar, base, cache, folders[jar.group] / jar.name), wanted))


def leave_only(jars: list[Jar], folders: Mapping[str, Path]) -> None:
    """Remove from these folders the jars that no group of the lock has there, those of a release before."""
    for folder in set(folders.values()):
        keep_only(folder, {jar.name for jar in jars if folders.get(jar.group) == folder})


def keep_only(folder: Path, names: Collection[str]) -> None:
    """Remove a folder's other jars, which whoever takes all of the folder would mix with these; our own one stays."""
    for jar in folder.glob("*.jar"):
        if jar.name not in names and jar.name != SPARK_JAR:
            jar.unlink()


def _provide(jar: Jar, base: str, cache: Path, target: Path) -> int:
    """One jar into its place, by a link where the file system allows it."""
    if target.exists() and target.stat().st_size == jar.size:
        return 0
    cached = cache / jar.sha256
    downloaded = 0 if cached.exists() and _digest(cached) == jar.sha256 else _download(jar, base, cached)
    new = target.with_name(f"{target.name}.{os.getpid()}.new")
    new.unlink(missing_ok=True)
    try:
        os.link(cached, new)
    except OSError:
        shutil.copyfile(cached, new)
    new.replace(target)
    return downloaded


def _download(jar: Jar, base: str, cached: Path) -> int:
    """One jar into the cache, checked before it gets its name; what may pass is tried again for half a minute."""
    url = f"{base}/{jar.path}"
    new = cached.with_name(f"{cached.name}.{os.getpid()}.new")
    pauses = wait_exponential_jitter(initial=FIRST_PAUSE_SECONDS, max=LONGEST_PAUSE_SECONDS)
    again = Retrying(retry=retry_if_exception(_may_pass), stop=stop_after_attempt(ATTEMPTS), wait=pauses, reraise=True)
    try:
        again(_copy, url, new, jar.size)
    except (http.client.HTTPException, OSError) as error:
        new.unlink(missing_ok=True)
        raise JarUnreachable(url, error) from error
    if (actual := _digest(new)) != jar.sha256:
        new.unlink()
        raise JarDamaged(url, jar.sha256, actual)
    new.replace(cached)
    return jar.size


def _copy(url: str, new: Path, size: int) -> None:
    """What a URL answers, into a file; raises HTTPException, OSError, and of these ConnectionError for fewer
    bytes than `size`."""
    with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer, new.open("wb") as out:
        shutil.copyfileobj(answer, out)
    if (came := new.stat().st_size) < size:
        raise ConnectionError(f"only {came} of {size} bytes came")


def _may_pass(problem: BaseException) -> bool:
    """Whether a download that failed of this may succeed later: all but what a repository itself has refused, a full
    disk or a folder that may not be written."""
    if isinstance(problem, urllib.error.HTTPError):
        return problem.code >= 500 or problem.code in (408, 429)
    network = (urllib.error.URLError, ConnectionError, TimeoutError, http.client.HTTPException)
    return isinstance(problem, network)


def _digest(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _mirror(settings: Path) -> str | None:
    """URL of the first mirror of Maven Central (or of everything) in a Maven settings file, if any."""
    try:
        tree = ElementTree.parse(settings)
    except (ElementTree.ParseError, OSError):
        return None
    for mirror in tree.getroot().iterfind("{*}mirrors/{*}mirror"):
        wanted = {name.strip() for name in (mirror.findtext("{*}mirrorOf") or "").split(",")}
        if url := (mirror.findtext("{*}url") or "").strip() if wanted & {"*", "central", "external:*"} else "":
            return url.rstrip("/")
    return None
