"""The project's wheel in an environment of its own, which sees the packages of this one."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import venv
from pathlib import Path

from stack.provisioning.linters import uv_program

CHECKOUT = Path(__file__).resolve().parents[2]


def build(folder: Path) -> Path:
    """The wheel of this checkout."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=CHECKOUT, check=True)
    (found,) = folder.glob("*.whl")
    return found


def environment(wheel: Path, folder: Path) -> Path:
    """The folder, with nothing of the project but the wheel."""
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "outer.pth").write_text("\n".join(site.getsitepackages()))
    install(wheel, folder / "bin" / "python")
    return folder


def install(wheel: Path, python: Path) -> None:
    """Put the wheel, and nothing that it needs, into the environment of a Python."""
    uv = uv_program(CHECKOUT, os.environ)
    assert uv, "uv is neither in .kappa/uv nor on PATH; './kappa' puts it there"
    command = [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(python), str(wheel)]
    subprocess.run(command, check=True)


def checkout(environment: Path) -> Path:
    """What of a checkout the wheel brings."""
    return next(environment.glob("lib/python*/site-packages/kappa/checkout"))
