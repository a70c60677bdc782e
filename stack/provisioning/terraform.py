"""Runs Terraform on a target of `terraform/`: in a copy of the tree, with the state and variables in a given folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kappa.core.refusals import Refusal

COPIED = ("modules", "targets")
WANTED = "1.11"
CHANGES = 2
"""What `terraform plan` exits with where it would change something."""
ONE_BY_ONE = "-parallelism=1"
"""Side by side, the provider of Kafka now and then says "broker not connected" on a busy machine."""


class NoTerraform(Refusal):
    """Terraform is not installed."""

    def __init__(self) -> None:
        super().__init__(
            f"there is no 'terraform' on the PATH. Install Terraform {WANTED} or newer; './kappa up' without "
            "'--provision terraform' needs none. Nothing was started."
        )


class TerraformFailed(Refusal):
    """Terraform refused, or could not do, what it was asked for."""

    def __init__(self, target: str, words: Sequence[str], said: str, log: Path) -> None:
        stays = "What was applied before it failed stays" if words[0] == "apply" else "Nothing was changed"
        super().__init__(
            f"terraform {words[0]} of targets/{target} failed. It said:\n{_told(said)}\nAll of it is in {log}. "
            f"{stays}: correct the cause, and do it once more."
        )


@dataclass(frozen=True)
class Target:
    """One target's root module, applied from `folder`, which holds the copy, the state and the variables (0700).

    `mirrors` are the only places that providers come from. The copy is there because Terraform writes beside the files
    that it reads, and the hashes of providers that were built here are no part of a checkout.
    """

    name: str
    checkout: Path
    folder: Path
    mirrors: Sequence[Path]
    environment: Mapping[str, str]

    @property
    def state(self) -> Path:
        """Terraform's memory of what it made."""
        return self.folder / f"{self.name}.tfstate"

    @property
    def log(self) -> Path:
        """What Terraform said."""
        return self.folder / f"{self.name}.log"

    def prepare(self, variables: Mapping[str, Any]) -> None:
        """Copy the tree, write the variables, of which none is a secret, and initialise. Raises NoTerraform,
        TerraformFailed."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in COPIED:
            shutil.rmtree(self.folder / name, ignore_errors=True)
            shutil.copytree(self.checkout / "terraform" / name, self.folder / name, ignore=_LEFT)
        self.set(variables)
        mirrors = [f"-plugin-dir={mirror}" for mirror in self.mirrors]
        self._succeed("init", "-reconfigure", f"-backend-config=path={self.state}", *mirrors)

    def set(self, variables: Mapping[str, Any]) -> None:
        """Other values of the variables, for the next plan."""
        (self._root / "terraform.tfvars.json").write_text(json.dumps(variables, indent=2))

    def changes(self, *more: str) -> bool:
        """Whether an apply would change something. Raises NoTerraform, TerraformFailed."""
        done = self.run("plan", "-detailed-exitcode", ONE_BY_ONE, *more)
        if done.returncode not in (0, CHANGES):
            raise TerraformFailed(self.name, ("plan",), done.stdout, self.log)
        return done.returncode == CHANGES

    def apply(self) -> str:
        """Make it so; what Terraform said. Raises NoTerraform, TerraformFailed."""
        return self._succeed("apply", "-auto-approve", ONE_BY_ONE)

    def outputs(self) -> dict[str, Any]:
        """The target's outputs by name. Raises NoTerraform, TerraformFailed."""
        told = json.loads(self._succeed("output", "-json", "-no-color"))
        return {name: output["value"] for name, output in told.items()}

    def run(self, word: str, *more: str) -> subprocess.CompletedProcess[str]:
        """One command of Terraform, whatever comes of it. Raises NoTerraform."""
        program = executable(self.environment)
        asked = () if word in ("output", "show") else ("-input=false", "-no-color")
        done = subprocess.run(
            [program, word, *asked, *more], cwd=self._root, env=self._surroundings, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        with open(os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a") as log:
            log.write(f"$ terraform {word} {' '.join(more)}\n{done.stdout}")
        return done

    def _succeed(self, word: str, *more: str) -> str:
        done = self.run(word, *more)
        if done.returncode:
            raise TerraformFailed(self.name, (word, *more), done.stdout, self.log)
        return done.stdout

    @property
    def _root(self) -> Path:
        return self.folder / "targets" / self.name

    @property
    def _surroundings(self) -> dict[str, str]:
        """Terraform asks nobody for news, and takes providers from the mirrors only, whatever the user has set."""
        kept = {name: value for name, value in self.environment.items() if not name.startswith("TF_")}
        return {**kept, "TF_IN_AUTOMATION": "1", "TF_CLI_CONFIG_FILE": os.devnull, "CHECKPOINT_DISABLE": "1"}


def executable(environment: Mapping[str, str]) -> str:
    """The path of Terraform. Raises NoTerraform."""
    if found := shutil.which("terraform", path=environment.get("PATH", os.defpath)):
        return found
    raise NoTerraform


_LEFT = shutil.ignore_patterns(".terraform*", "*.tfstate*", "terraform.tfvars.json")


def _told(said: str) -> str:
    """Terraform's errors without what came before them, and without its frames."""
    lines = [line.strip("│╷╵ ") for line in said.splitlines()]
    first = next((number for number, line in enumerate(lines) if line.startswith("Error:")), max(0, len(lines) - 8))
    return "\n".join(f"  {line}" for line in lines[first : first + 24] if line)
