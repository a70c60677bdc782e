"""AWS as far as moto knows it, on loopback: started by uv in an environment of its own, with AWS's own command line."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from stack.provisioning.linters import uv_program
from stack.waiting import until
from tests.rigs.small_stack import free_ports

MOTO, COMMAND_LINE = "moto[server]==5.2.5", "awscli==1.46.2"
KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "eu-central-1"}
PATIENCE_SECONDS = 120.0


@dataclass(frozen=True)
class StandingIn:
    """Where it listens, and the programs that are of use beside it: `uv`."""

    endpoint: str
    uv: str

    @property
    def environment(self) -> dict[str, str]:
        """By it every client of AWS asks this server and no other."""
        return {**os.environ, **KEYS, "AWS_ENDPOINT_URL": self.endpoint, "AWS_EC2_METADATA_DISABLED": "true",
                "AWS_MAX_ATTEMPTS": "2"}  # fmt: skip

    def aws(self, *words: str) -> str:
        """What AWS's command line prints."""
        done = subprocess.run(
            [*tool(self.uv, COMMAND_LINE, "aws"), *words], env=self.environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def put_command_line(self, folder: Path) -> None:
        """`aws` into a folder for a PATH."""
        (folder / "aws").write_text(f'#!/bin/sh\nexec {" ".join(tool(self.uv, COMMAND_LINE, "aws"))} "$@"\n')
        (folder / "aws").chmod(0o755)


@contextmanager
def standing_in(folder: Path) -> Iterator[StandingIn]:
    """The server, with what it says in `folder`. Skips the test where uv or the package cannot be had."""
    uv = uv_program(CHECKOUT, os.environ)
    if uv is None:
        pytest.skip("no uv, which would bring moto: ./kappa brings it")
    fetched = subprocess.run(tool(uv, MOTO, "python", "-c", "import moto"), capture_output=True, text=True)
    if fetched.returncode:
        pytest.skip(f"no moto, which stands in for AWS: {fetched.stderr.strip().splitlines()[-1]}")
    here = StandingIn(f"http://127.0.0.1:{(port := free_ports(1)[0])}", uv)
    program = Path(__file__).with_name("moto_server.py")
    with (folder / "moto.log").open("wb") as log:
        server = subprocess.Popen(
            tool(uv, MOTO, "python", str(program), str(port)), stdout=log, stderr=subprocess.STDOUT,
            env={**os.environ, "MOTO_IAM_LOAD_MANAGED_POLICIES": "true"}, process_group=0,
        )  # fmt: skip
    try:
        assert until(lambda: b"Running on" in (folder / "moto.log").read_bytes(), PATIENCE_SECONDS)
        yield here
    finally:
        server.terminate()
        server.wait()


def tool(uv: str, package: str, *words: str) -> list[str]:
    """A program of a package, in an environment that uv keeps for it, beside this project's own."""
    return [uv, "tool", "run", "--quiet", "--python", "3.11", "--from", package, *words]
