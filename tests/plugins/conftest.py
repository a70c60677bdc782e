"""A platform of fakes with one artifact, on which plans and steps can be tried without a stack; and both registries,
for what they promise alike."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from kappa import artifacts
from kappa.hooks.registry import Author, Registry
from kappa.ports import Platform

from cli.entry import CHECKOUT
from jobs.settings import Settings
from stack.layout import Layout
from tests.plugins.fake_releases import FakeReleases
from tests.plugins.fakes import NOON, FakeClock, FakeCluster, FakeLog, FakeRegistry
from tests.plugins.registries import FakeTrial, PostgresTrial, Trial
from tests.plugins.release_trials import FakeReleaseTrial, PostgresReleaseTrial, ReleaseTrial, serve

CODE = {
    "jobs/run.py": "print('driver')\n",
    "jobs/standby.py": "print('warm')\n",
    "jobs/schemas.py": "FIELDS = 1\n",
    "jobs/fates.py": "LATE = 2\n",
    "jobs/sinks.py": "SINK = 3\n",
    "jobs/transforms/windows.py": '"""Doc."""\n\ndef fold(a):\n    """Doc."""\n    return a + 1  # why\n',
    "jobs/pipelines/pipeline.py": "SHARED = 5\n",
    "jobs/pipelines/ad_ctr.py": "def build(events):\n    return events\n",
    "jobs/pipelines/client_spend.py": "def build(events):\n    return events\n",
}


def edit(checkout: Path, path: str, old: str, new: str) -> None:
    """Change one file of a checkout; the edit must have found something."""
    text = (checkout / path).read_text()
    assert old in text, f"{path} has no '{old}'"
    (checkout / path).write_text(text.replace(old, new))


@dataclass
class Stage:
    """A platform of fakes, each at hand by its own name."""

    platform: Platform
    registry: FakeRegistry
    cluster: FakeCluster
    clock: FakeClock
    log: FakeLog
    checkout: Path
    releases: FakeReleases

    def change(self, path: str, old: str, new: str) -> None:
        """Edit the checkout's code."""
        edit(self.checkout, path, old, new)

    def take_own_code(self) -> None:
        """The checkout holds the project's own jobs folder from now on."""
        shutil.rmtree(self.checkout / "jobs")
        shutil.copytree(CHECKOUT / "jobs", self.checkout / "jobs", ignore=shutil.ignore_patterns("__pycache__"))

    def build(self) -> str:
        """The digest of the checkout's artifact."""
        artifacts_folder = self.platform.settings.artifacts
        return artifacts.build(self.checkout, artifacts_folder, self.clock.now()).digest


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return _write_checkout(tmp_path / "checkout")


@pytest.fixture
def stage(tmp_path: Path, checkout: Path) -> Stage:
    return _stage(tmp_path / "state", checkout)


@pytest.fixture
def stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Stage]:
    """Makes a stage of its own at each call, all with the same code, which is in no git."""
    numbers = count()
    monkeypatch.setattr(artifacts, "_commit", lambda _: None)

    def make() -> Stage:
        folder = tmp_path / f"stage-{next(numbers)}"
        return _stage(folder / "state", _write_checkout(folder / "checkout"))

    return make


def _write_checkout(root: Path) -> Path:
    for path, text in CODE.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def _stage(home: Path, checkout: Path) -> Stage:
    registry = FakeRegistry()
    cluster = FakeCluster(registry)
    now_ms = int(NOON.timestamp() * 1000)
    log = FakeLog({0: 0, 1: 0}, {0: [now_ms - 60_000], 1: []})
    releases = FakeReleases(registry)
    platform = Platform(Settings(home=home), registry, cluster, log.opened, registry.clock, releases)
    made = Stage(platform, registry, cluster, registry.clock, log, checkout, releases)
    made.build()
    return made


@pytest.fixture
def author() -> Author:
    return Author("tester", "run-1", "because")


@pytest.fixture
def job() -> str:
    """A job of this test's own."""
    return f"trial_{secrets.token_hex(4)}"


@pytest.fixture(params=["fake", pytest.param("postgres", marks=pytest.mark.rig)])
def trial(request: pytest.FixtureRequest, job: str) -> Iterator[Trial]:
    if request.param == "fake":
        yield FakeTrial(job)
        return
    with PostgresTrial(job, request.getfixturevalue("parts").settings).prepared() as prepared:
        yield prepared


@pytest.fixture(params=["fake", pytest.param("postgres", marks=pytest.mark.rig)])
def releasing(request: pytest.FixtureRequest, job: str) -> Iterator[ReleaseTrial]:
    """Both Releases over two jobs of the test's own."""
    names = (job, f"{job}_b")
    if request.param == "fake":
        yield FakeReleaseTrial(names)
        return
    with PostgresReleaseTrial(names, request.getfixturevalue("parts").settings).prepared() as prepared:
        yield prepared


@pytest.fixture
def serving(parts: Layout, job: str) -> Iterator[PostgresReleaseTrial]:
    """Releases in Postgres over two jobs that each serve version 1."""
    with PostgresReleaseTrial((job, f"{job}_b"), parts.settings).prepared() as prepared:
        serve(prepared)
        yield prepared


@pytest.fixture
def registry(trial: Trial) -> Registry:
    return trial.registry
