"""The tree of `terraform/` in a test: copied, with the providers that were built, or the reason why there are none."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from stack.provisioning import providers
from stack.provisioning.providers import Provider
from stack.provisioning.terraform import NoTerraform, executable

TREE = CHECKOUT / "terraform"
AWS = Provider("aws", "hashicorp/aws", "5.100.0")
"""Not built here: that takes hours, and some 20 GB."""
PLUGINS = ("~/.terraform.d/plugins", "~/.local/share/terraform/plugins", "/usr/local/share/terraform/plugins",
           "/usr/share/terraform/plugins", "/opt/*")  # fmt: skip
"""Where Terraform itself, and images of machines, keep providers; KAPPA_TERRAFORM_PLUGINS names another folder."""
SURROUNDINGS = {**os.environ, "TF_CLI_CONFIG_FILE": os.devnull, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Prints how long the body took."""
    begun = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - begun:.1f} s")


def reckoned() -> dict[str, int]:
    """The measured figures that the module for sizing reckons with, and each other whole number that it explains."""
    text = (TREE / "modules" / "sizing" / "main.tf").read_text()
    return {name: int(figure) for name, figure in re.findall(r"^  (\w+) += (\d+) +#", text, re.M)}


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


def needed(root: str = "") -> None:
    """Skip the test, with the reason, where Terraform cannot run, or has no provider of AWS for a root that asks for
    it."""
    why = lacking()
    if not why and wants_aws(root) and aws_mirror() is None:
        why = (
            f"Terraform's provider {AWS.source} {AWS.version} is in none of {', '.join(PLUGINS)}, nor in the folder "
            "that KAPPA_TERRAFORM_PLUGINS names"
        )
    if why:
        pytest.skip(why)


def wants_aws(root: str) -> bool:
    """Whether a root module, by its path in the tree, asks for the provider of AWS."""
    file = TREE / root / "versions.tf"
    return bool(root) and file.exists() and f'"{AWS.source}"' in file.read_text()


def aws_mirror() -> Path | None:
    """The folder that has the provider of AWS."""
    named = os.environ.get("KAPPA_TERRAFORM_PLUGINS")
    places = [named] if named else [place for each in PLUGINS for place in glob.glob(os.path.expanduser(each))]
    return next((Path(place) for place in places if list(AWS.file(Path(place)).parent.glob(f"{AWS.binary}*"))), None)


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
    folders = [*providers.mirrors(CHECKOUT, os.environ).values(), *([found] if (found := aws_mirror()) else [])]
    mirrors = [f"-plugin-dir={mirror}" for mirror in folders]
    done = terraform(folder, "init", "-input=false", "-backend=false", *mirrors)
    assert done.returncode == 0, done.stdout
    return folder
