"""A platform of fakes with one artifact, on which plans and steps can be tried without a stack; and both registries,
for what they promise alike."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest

from kappa.code import artifacts
from kappa.core.audit import Author
from kappa.core.installation.settings import Settings
from kappa.core.log.kafka_log import Offsets
from kappa.platform import Platform
from kappa.registry.port import Registry
from stack.layout import Layout
from tests.plugins.fake_releases import FakeReleases
from tests.plugins.fakes import NOON, FakeCluster, FakeLog, FakeRegistry
from tests.plugins.registries import FakeTrial, PostgresTrial, Trial
from tests.plugins.release_trials import FakeReleaseTrial, PostgresReleaseTrial, ReleaseTrial, serve
from tests.plugins.stages import AnyStage, write_checkout

pytest.register_assert_rewrite(
    "tests.plugins.kill_trials", "tests.plugins.replay_kill_trials", "tests.plugins.change_runs"
)


@dataclass
class Stage(AnyStage):
    """A platform of fakes only."""

    registry: FakeRegistry
    releases: FakeReleases

    def read(self, job: str, version: int, ends: Offsets) -> None:
        self.registry.next_offsets[job, version] = dict(ends)
        self.registry.ends[job, version] = dict(ends)
        self.releases.final[job, version] = self.clock.now()

    def keep_in(self, store: str) -> None:
        """Checkpoints and scratch lie in this folder or bucket; without a name in the state folder."""
        settings = self.platform.settings
        places = replace(settings.places, store=store)
        self.platform = replace(self.platform, settings=replace(settings, places=places))

    def share(self, folder: Path) -> None:
        """What all hosts see lies in this folder, apart from the state folder; with the artifacts and jars so far."""
        settings = self.platform.settings
        for name in ("artifacts", "jars"):
            shutil.copytree(settings.shared / name, folder / name)
        places = replace(settings.places, shared=str(folder))
        self.platform = replace(self.platform, settings=replace(settings, places=places))

    def commit(self, job: str, version: int, generation: int) -> None:
        self.registry.batches.add((job, version, generation))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return write_checkout(tmp_path / "checkout")


@pytest.fixture
def stage(tmp_path: Path, checkout: Path) -> Stage:
    return _stage(tmp_path / "state", checkout)


@pytest.fixture
def stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Stage]:
    """Makes a stage of its own at each call, all with the same code, which is in no git and built once."""
    numbers, first = count(), tmp_path / "first"
    monkeypatch.setattr(artifacts, "_commit", lambda _: None)
    _stage(first / "state", write_checkout(first / "checkout"))

    def make() -> Stage:
        folder = tmp_path / f"stage-{next(numbers)}"
        shutil.copytree(first, folder, copy_function=os.link)
        return _stage(folder / "state", folder / "checkout")

    return make


def _stage(home: Path, checkout: Path) -> Stage:
    registry = FakeRegistry()
    cluster = FakeCluster(registry)
    now_ms = int(NOON.timestamp() * 1000)
    log = FakeLog({0: 0, 1: 0}, {0: [now_ms - 60_000], 1: []})
    releases = FakeReleases(registry)
    platform = Platform(Settings(home=home), registry, cluster, log.opened, registry.clock, releases)
    made = Stage(platform, cluster, registry.clock, log, checkout, registry, releases)
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
