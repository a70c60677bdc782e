"""Where the embedded stack keeps its files, derived from the Settings and the checkout."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from kappa.core.installation import layers
from kappa.core.installation.settings import Settings
from kappa.core.store.hdfs import VARIABLES, Hdfs
from kappa.core.store.s3 import CREDENTIALS, Bucket

MARKER = "KAPPA_STACK"
INHERITED = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "SSL_CERT_FILE",
    "JAVA_TOOL_OPTIONS",
    "KAPPA_CACHE",
    "KAPPA_SETTINGS",
)


@dataclass(frozen=True)
class Layout:
    """Files and folders of one stack; `environment` is that of the process that starts it."""

    settings: Settings
    checkout: Path
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def home(self) -> Path:
        """The state folder."""
        return self.settings.home

    @property
    def logs(self) -> Path:
        """One rotated log file a process."""
        return self.home / "logs"

    @property
    def run(self) -> Path:
        """What describes the running stack: supervisor's configuration, its pid file, where its socket is."""
        return self.home / "run"

    @property
    def kafka(self) -> Path:
        """The broker's configuration and, in `data`, the log."""
        return self.home / "kafka"

    @property
    def postgres(self) -> Path:
        """Parent of the Postgres data folder."""
        return self.home / "postgres"

    @property
    def spark(self) -> Path:
        """Working folder of the Spark worker: one folder a driver or executor."""
        return self.home / "spark"

    @property
    def airflow(self) -> Path:
        """AIRFLOW_HOME."""
        return self.home / "airflow"

    @property
    def broker_jars(self) -> Path:
        """Jars of the broker; those of the Spark applications are `settings.jars`."""
        return self.home / "jars" / "broker"

    @property
    def cache(self) -> Path:
        """What all state folders of a checkout share; named by KAPPA_CACHE where nothing may be written beside the
        code."""
        return Path(self.environment.get("KAPPA_CACHE") or self.checkout / ".kappa" / "cache")

    @property
    def jar_cache(self) -> Path:
        """Downloaded jars."""
        return self.cache / "jars"

    @property
    def python(self) -> str:
        """The interpreter of the one environment."""
        return sys.executable

    @property
    def store_keys(self) -> dict[str, str]:
        """By what the caller may use the bucket or HDFS; nothing where the store is a folder."""
        wanted = {Bucket: CREDENTIALS, Hdfs: VARIABLES}.get(type(self.settings.store.store), ())
        return {name: self.environment[name] for name in wanted if name in self.environment}

    @property
    def surroundings(self) -> dict[str, str]:
        """Environment of every process of the stack: a little of the caller's, and the mark to find it by."""
        kept = {name: self.environment[name] for name in INHERITED if name in self.environment}
        kept |= {name: value for name, value in self.environment.items() if name.startswith(layers.PREFIX)}
        return {"PATH": os.defpath, **kept, **self.store_keys, MARKER: str(self.home), "KAPPA_HOME": str(self.home)}


def package_folder(name: str) -> Path:
    """The folder of an installed package, found without importing it."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"uv.lock names the package {name}, but it is not installed", name=name)
    return Path(spec.origin).parent
