"""The tree of `terraform/` in a test: copied, with the providers that were built, or the reason why there are none."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from stack.provisioning import providers
from stack.provisioning.terraform import NoTerraform, executable

TREE = CHECKOUT / "terraform"
SURROUNDINGS = {**os.environ, "TF_CLI_CONFIG_FILE": os.devnull, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Prints how long the body took."""
    begun = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - begun:.1f} s")


def lacking() -> str:
    """What is missing to run Terraform with our providers here; empty where nothing is."""
    try:
        executable(os.environ)
    except NoTerraform as error:
        return str(error)
    if missing := providers.missing(CHECKOUT, os.environ):
        names = ", ".join(provider.name for provider in missing)
        return f"Terraform's providers {names} are not built: python -m stack.provisioning.providers"
    return ""


def needed() -> None:
    """Skip the test, with the reason, where Terraform cannot run."""
    if why := lacking():
        pytest.skip(why)


def copy(folder: Path) -> Path:
    """A copy of the tree that Terraform may write into."""
    ignored = shutil.ignore_patterns(".terraform*", "tools")
    return Path(shutil.copytree(TREE, folder / "terraform", ignore=ignored))


def terraform(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What Terraform answers in a folder."""
    command = ["terraform", *words, "-no-color"]
    return subprocess.run(
        command, cwd=folder, env=SURROUNDINGS, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def initialised(folder: Path) -> Path:
    """The folder, with its providers."""
    mirrors = [f"-plugin-dir={mirror}" for mirror in providers.mirrors(CHECKOUT, os.environ).values()]
    done = terraform(folder, "init", "-input=false", "-backend=false", *mirrors)
    assert done.returncode == 0, done.stdout
    return folder
