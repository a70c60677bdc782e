"""Each script of a shell is read by shellcheck."""

from __future__ import annotations

import subprocess
from pathlib import Path

from cli.commands.test import parts

CHECKOUT = Path(__file__).resolve().parents[2]


def test_every_script_of_a_shell_is_checked(tmp_path: Path) -> None:
    (checks,) = (one for one in parts(CHECKOUT, tmp_path, False, []) if one.name == "checks")
    (command,) = (step.command for step in checks.steps if step.name == "shellcheck")
    listed = subprocess.run(["git", "ls-files"], cwd=CHECKOUT, capture_output=True, text=True).stdout.split()
    first = {name: (CHECKOUT / name).open("rb").readline(80) for name in listed if not name.endswith(".tftpl")}
    scripts = {name for name, line in first.items() if line in (b"#!/bin/sh\n", b"#!/bin/bash\n")}
    tool = next(place for place, word in enumerate(command) if word.endswith("shellcheck"))
    assert {str(Path(word).relative_to(CHECKOUT)) for word in command[tool + 1 :]} == scripts
