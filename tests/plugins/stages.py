"""A stage: a platform whose cluster, log and clock are fakes, whatever keeps its registry and its releases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path

from cli.entry import CHECKOUT
from kappa.code import artifacts
from kappa.core import artifact_files
from kappa.core.installation.addresses import Places, Postgres
from kappa.core.installation.settings import Settings
from kappa.core.log.kafka_log import Offsets
from kappa.core.spark_environment import SPARK_JAR
from kappa.platform import Platform
from tests.plugins.fake_memory import FakeClock
from tests.plugins.fakes import FakeCluster, FakeLog

CODE = {
    "jobs/run.py": "print('driver')\n",
    "jobs/outcome.py": "ARGUMENT = '--attempt'\n",
    "jobs/standby.py": "print('warm')\n",
    "jobs/schemas.py": "FIELDS = 1\n",
    "plugins/kappa/__init__.py": "",
    "plugins/kappa/core/fates.py": "LATE = 2\n",
    "plugins/kappa/core/measures.py": "MEASURES = (1,)\n",
    "jobs/sinks.py": "SINK = 3\n",
    "jobs/transforms/windows.py": '"""Doc."""\n\ndef fold(a):\n    """Doc."""\n    return a + 1  # why\n',
    "jobs/pipelines/pipeline.py": "SHARED = 5\n",
    "jobs/pipelines/windowed.py": "def build(events):\n    return events\n",
    "jobs/pipelines/quarantine.py": "def build(events):\n    return events\n",
}


@dataclass
class AnyStage(ABC):
    """A platform on which whole runs can be tried, each of its fakes at hand by its own name."""

    platform: Platform
    cluster: FakeCluster
    clock: FakeClock
    log: FakeLog
    checkout: Path

    def change(self, path: str, old: str, new: str) -> None:
        """Edit the checkout's code."""
        edit(self.checkout, path, old, new)

    def take_own_code(self) -> None:
        """The checkout holds the project's own jobs and kernel from now on, and no other."""
        for file in artifact_files.sources(self.checkout):
            file.unlink()
        artifacts.copy_sources(CHECKOUT, self.checkout)

    def build(self) -> str:
        """The digest of the checkout's artifact; what a driver needs beside it is there from now on, too."""
        settings = self.platform.settings
        put_checkpoint_jar(settings)
        return artifacts.build(self.checkout, settings.artifacts, self.clock.now()).digest

    @abstractmethod
    def read(self, job: str, version: int, ends: Offsets) -> None:
        """A version's driver has read the log up to these ends of it."""

    @abstractmethod
    def commit(self, job: str, version: int, generation: int) -> None:
        """A version's driver commits a batch from a generation of its checkpoint."""


def put_checkpoint_jar(settings: Settings) -> None:
    """A jar of that name, which nothing here loads."""
    settings.jars.mkdir(parents=True, exist_ok=True)
    (settings.jars / SPARK_JAR).touch()


def store_apart(settings: Settings, folder: Path) -> Settings:
    """The same on several hosts, whose store is not their shared folder; both lie in this one, and are not there."""
    places = Places(shared=str(folder / "shared"), store=str(folder / "store"))
    return replace(settings, postgres=Postgres("pg"), places=places)


def edit(checkout: Path, path: str, old: str, new: str) -> None:
    """Change one file of a checkout, of which other checkouts may have the same; the edit must have found something."""
    file = checkout / path
    text = file.read_text()
    assert old in text, f"{path} has no '{old}'"
    file.unlink()
    file.write_text(text.replace(old, new))


def write_checkout(root: Path) -> Path:
    """A checkout with a little code."""
    for path, text in CODE.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root
