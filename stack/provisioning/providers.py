"""Terraform's providers, built from pinned Go modules into a mirror in the user's cache: `python -m` this module."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kappa.core.refusals import Refusal

REGISTRY = "registry.terraform.io"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
BUILD = ("build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w")
Echo = Callable[[str], None]


@dataclass(frozen=True)
class Provider:
    """`source` and `version` are those of `required_providers`; `package` is what Go builds in `terraform/tools/NAME`,
    whose go.sum pins all that is in it."""

    name: str
    source: str
    version: str
    package: str = "."

    def file(self, mirror: Path) -> Path:
        """Where Terraform looks for it in a mirror."""
        system = f"linux_{ARCHITECTURES.get(platform.machine(), platform.machine())}"
        folder = mirror / REGISTRY / self.source / self.version / system
        return folder / self.binary

    @property
    def binary(self) -> str:
        """What the program is called."""
        return f"terraform-provider-{self.name}_v{self.version}"


PROVIDERS = (
    Provider("kafka", "mongey/kafka", "0.13.1"),
    Provider("local", "hashicorp/local", "2.9.0", "github.com/terraform-providers/terraform-provider-local"),
)


@dataclass(frozen=True)
class Tool(Provider):
    """A program that is built as the providers are, for checks and tests."""

    def file(self, mirror: Path) -> Path:
        """By its name."""
        return mirror / self.name


TFLINT = Tool("tflint", "terraform-linters/tflint", "0.64.0", "github.com/terraform-linters/tflint")
COMPOSE = Tool("docker-compose", "docker/compose", "2.40.3")


class NoGo(Refusal):
    """There is no Go to build a provider with."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(
            f"Terraform's providers {', '.join(names)} are not built yet, and there is no 'go' on the PATH to build "
            "them with. Install Go 1.25 or newer and try again, once for each user of this machine; './kappa up' "
            "without '--provision terraform' needs none. Nothing was started."
        )


class NotBuilt(Refusal):
    """Go could not build a provider."""

    def __init__(self, provider: Provider, said: str) -> None:
        last = "\n  ".join(said.strip().splitlines()[-8:])
        super().__init__(
            f"Go could not build Terraform's provider {provider.name} {provider.version} (terraform/tools/"
            f"{provider.name}). It said:\n  {last}\nCheck that Go reaches its module proxy (go env GOPROXY), then try "
            "again: modules that came are kept. Nothing was started."
        )


def cache(environment: Mapping[str, str]) -> Path:
    """Where mirrors are kept for all checkouts of this user."""
    home = Path(environment.get("HOME", "/"))
    return Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "kappa" / "terraform"


def mirrors(checkout: Path, environment: Mapping[str, str], wanted: Sequence[Provider] = PROVIDERS) -> dict[str, Path]:
    """By provider the folder of its mirror, there or not: another go.mod or go.sum is another folder."""
    return {provider.name: cache(environment) / f"{provider.name}-{_key(checkout, provider)}" for provider in wanted}


def missing(checkout: Path, environment: Mapping[str, str], wanted: Sequence[Provider] = PROVIDERS) -> list[Provider]:
    """The providers that must be built first."""
    folders = mirrors(checkout, environment, wanted)
    return [provider for provider in wanted if not provider.file(folders[provider.name]).exists()]


def build(
    checkout: Path, environment: Mapping[str, str], echo: Echo, wanted: Sequence[Provider] = PROVIDERS
) -> list[Path]:
    """The mirrors of all providers; those that are missing are built, a minute each. Raises NoGo, NotBuilt."""
    lacking, folders = missing(checkout, environment, wanted), mirrors(checkout, environment, wanted)
    go = shutil.which("go", path=environment.get("PATH", os.defpath))
    if lacking and go is None:
        raise NoGo([provider.name for provider in lacking])
    for number, provider in enumerate(lacking, 1):
        echo(f"{'terraform':<10} building provider {provider.name} ({number} of {len(lacking)}), a minute or two")
        begun = time.monotonic()
        size = _build(provider, str(go), checkout, folders[provider.name], environment)
        echo(f"{'terraform':<10} provider {provider.name}: {size / 1e6:.0f} MB in {time.monotonic() - begun:.0f} s")
    return list(folders.values())


def _build(provider: Provider, go: str, checkout: Path, mirror: Path, environment: Mapping[str, str]) -> int:
    """One provider into its mirror, whole or not at all; its bytes."""
    mirror.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f"{mirror.name}.", dir=mirror.parent))
    try:
        file = provider.file(new)
        done = subprocess.run(
            [go, *BUILD, "-o", str(file), provider.package], cwd=_module(checkout, provider),
            env={**environment, "CGO_ENABLED": "0"}, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode:
            raise NotBuilt(provider, done.stderr)
        new.chmod(0o755)
        if not mirror.exists():
            new.rename(mirror)
        return provider.file(mirror).stat().st_size
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _module(checkout: Path, provider: Provider) -> Path:
    return checkout / "terraform" / "tools" / provider.name


def _key(checkout: Path, provider: Provider) -> str:
    pinned = b"".join((_module(checkout, provider) / name).read_bytes() for name in ("go.mod", "go.sum"))
    return hashlib.sha256(pinned).hexdigest()[:12]


if __name__ == "__main__":
    try:
        print("\n".join(map(str, build(Path(__file__).resolve().parents[2], os.environ, print))))
    except Refusal as refusal:
        sys.exit(str(refusal))
