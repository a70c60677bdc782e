"""Reads what provisions an installation without applying it: `python -m` this module, of `./kappa test`'s checks.

A tool that is not on this machine is named in one line; what it would have said is not known then.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kappa.core.refusals import Refusal
from stack.provisioning import providers
from stack.provisioning.providers import COMPOSE, TFLINT, Tool
from stack.provisioning.terraform import NoTerraform, executable

CHECKOV = "checkov==3.3.30"
TREE = "terraform"
HOW = "python -m stack.provisioning.linters build"
UNREAD = re.compile(r"Parsing errors: [1-9]")
"""What checkov says of a file that it could not read, and so found nothing in; its exit code does not."""


@dataclass(frozen=True)
class Check:
    """A command that exits with 0 where it has no fault to find, or the reason why it cannot be run."""

    name: str
    command: Sequence[str] = ()
    missing: str = ""


def checks(checkout: Path, environment: Mapping[str, str]) -> list[Check]:
    """All of them, each with what it needs, as far as that is there."""
    return [_form(environment), _tflint(checkout, environment), _checkov(checkout, environment),
            _compose(checkout, environment)]  # fmt: skip


def run(checkout: Path, environment: Mapping[str, str]) -> int:
    """How many found a fault. What they say is printed, and a line for each that was not run."""
    faults = 0
    for check in checks(checkout, environment):
        if check.missing:
            print(f"NOT RUN: {check.name}: {check.missing}", flush=True)
            continue
        done = subprocess.run(
            check.command, cwd=checkout, env=_surroundings(environment), stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        faulty = done.returncode != 0 or bool(UNREAD.search(done.stdout))
        faults += faulty
        print(f"{check.name}: {done.stdout if faulty else 'well'}", flush=True)
    return faults


def _form(environment: Mapping[str, str]) -> Check:
    name = "terraform fmt"
    try:
        return Check(name, [executable(environment), "fmt", "-check", "-recursive", "-diff", TREE])
    except NoTerraform:
        return Check(name, missing="there is no 'terraform' on the PATH")


def _tflint(checkout: Path, environment: Mapping[str, str]) -> Check:
    built = TFLINT.file(providers.mirrors(checkout, environment, [TFLINT])[TFLINT.name])
    found = str(built) if built.exists() else _on_path("tflint", environment)
    if found is None:
        return Check(
            "tflint", missing="it is not on the PATH, and not built: python -m stack.provisioning.linters build"
        )
    return Check("tflint", [found, f"--chdir={TREE}", "--recursive", f"--config={checkout / TREE / '.tflint.hcl'}"])


def _checkov(checkout: Path, environment: Mapping[str, str]) -> Check:
    """In an environment of its own, which uv keeps: it needs other versions of much that we need."""
    uv = uv_program(checkout, environment)
    if uv is None:
        return Check("checkov", missing="there is no uv, which would bring it; the launcher does")
    tool = [uv, "tool", "run", "--quiet", "--from", CHECKOV]
    if subprocess.run([*tool, "python", "-c", ""], capture_output=True, stdin=subprocess.DEVNULL).returncode:
        return Check("checkov", missing=f"uv could not bring {CHECKOV}: is there a network?")
    words = ["--skip-download", "--quiet", "--compact", "--framework", "terraform", "--directory", TREE]
    return Check("checkov", [*tool, "checkov", *words])


def uv_program(checkout: Path, environment: Mapping[str, str]) -> str | None:
    """The uv that the launcher brought, or the one on the PATH."""
    own = checkout / ".kappa" / "uv" / "bin" / "uv"
    return str(own) if own.exists() else _on_path("uv", environment)


def _compose(checkout: Path, environment: Mapping[str, str]) -> Check:
    name, words = "docker compose config", ["--env-file", ".env.example", "--profile", "*", "config", "-q"]
    for command in (["docker", "compose"], ["docker-compose"]):
        found = _on_path(command[0], environment)
        if found and not subprocess.run([found, *command[1:], "version"], capture_output=True).returncode:
            return Check(name, [found, *command[1:], *words])
    if built := _built(COMPOSE, checkout, environment):
        return Check(name, [built, *words])
    return Check(name, missing=f"there is no docker compose, and it is not built: {HOW}")


def _built(tool: Tool, checkout: Path, environment: Mapping[str, str]) -> str | None:
    built = tool.file(providers.mirrors(checkout, environment, [tool])[tool.name])
    return str(built) if built.exists() else None


def _on_path(program: str, environment: Mapping[str, str]) -> str | None:
    return shutil.which(program, path=environment.get("PATH", os.defpath))


def _surroundings(environment: Mapping[str, str]) -> dict[str, str]:
    return {**environment, "TF_CLI_CONFIG_FILE": os.devnull, "CHECKPOINT_DISABLE": "1", "LOG_LEVEL": "ERROR"}


if __name__ == "__main__":
    here = Path(__file__).resolve().parents[2]
    if sys.argv[1:] != ["build"]:
        sys.exit(run(here, os.environ))
    try:
        providers.build(here, os.environ, print, [TFLINT, COMPOSE])
    except Refusal as refusal:
        sys.exit(str(refusal))
