"""How Terraform is run: in a copy, asked by exit codes, without the user's settings, and refusals are in its words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stack.provisioning.terraform import NoTerraform, Target, TerraformFailed

SCRIPT = """#!/bin/sh
echo "$PWD $*" >> "{folder}/calls"
env | grep '^TF_' >> "{folder}/seen"
{body}
"""
FRAMED = """cat <<END
Refreshing state...
╷
│ Error: Instance cannot be destroyed
│
│   on main.tf line 1:
│ Resource kafka_topic.log has lifecycle.prevent_destroy set
╵
END
exit 1"""


def target(folder: Path, body: str = "exit 0") -> Target:
    """A target whose Terraform is a script."""
    (folder / "bin").mkdir()
    (folder / "bin" / "terraform").write_text(SCRIPT.format(folder=folder, body=body))
    (folder / "bin" / "terraform").chmod(0o755)
    root = folder / "checkout" / "terraform" / "targets" / "local"
    root.mkdir(parents=True)
    (root.parents[1] / "modules").mkdir()
    (root / "main.tf").write_text("# it")
    (root / "terraform.tfstate").write_text("somebody else's")
    environment = {"PATH": f"{folder / 'bin'}:{os.defpath}", "TF_LOG": "TRACE", "TF_VAR_secrets": "x"}
    return Target("local", folder / "checkout", folder / "state", [folder / "m1", folder / "m2"], environment)


def test_it_works_in_a_copy_with_providers_from_the_mirrors_only(tmp_path: Path) -> None:
    one = target(tmp_path)
    one.prepare({"topic": {"name": "t"}})
    root = one.folder / "targets" / "local"
    assert sorted(file.name for file in root.iterdir()) == ["main.tf", "terraform.tfvars.json"]
    assert one.folder.stat().st_mode & 0o777 == 0o700
    (called,) = (tmp_path / "calls").read_text().splitlines()
    assert called == (
        f"{root} init -input=false -no-color -reconfigure -backend-config=path={one.state} "
        f"-plugin-dir={tmp_path / 'm1'} -plugin-dir={tmp_path / 'm2'}"
    )


def test_what_the_user_has_set_for_terraform_is_not_handed_on(tmp_path: Path) -> None:
    one = target(tmp_path)
    one.prepare({})
    assert sorted((tmp_path / "seen").read_text().splitlines()) == [
        f"TF_CLI_CONFIG_FILE={os.devnull}",
        "TF_IN_AUTOMATION=1",
    ]


@pytest.mark.parametrize(("code", "changes"), [(0, False), (2, True)])
def test_a_plan_says_by_its_exit_code_whether_something_would_change(tmp_path: Path, code: int, changes: bool) -> None:
    one = target(tmp_path, f"[ $1 = plan ] && exit {code}; exit 0")
    one.prepare({})
    assert one.changes() is changes


@pytest.mark.parametrize("word", ["plan", "apply"])
def test_a_refusal_is_told_in_terraforms_words_without_its_frames(tmp_path: Path, word: str) -> None:
    one = target(tmp_path, f"[ $1 = {word} ] || exit 0\n{FRAMED}")
    one.prepare({})
    with pytest.raises(TerraformFailed) as told:
        one.changes() if word == "plan" else one.apply()
    assert str(told.value).splitlines()[:4] == [
        f"terraform {word} of targets/local failed. It said:",
        "  Error: Instance cannot be destroyed",
        "  on main.tf line 1:",
        "  Resource kafka_topic.log has lifecycle.prevent_destroy set",
    ]
    assert str(one.log) in str(told.value)
    assert "Refreshing" in one.log.read_text()


def test_without_terraform_it_is_said_how_to_go_on(tmp_path: Path) -> None:
    one = target(tmp_path)
    (tmp_path / "bin" / "terraform").unlink()
    with pytest.raises(NoTerraform, match=r"Install Terraform 1.11 .* without '--provision terraform' needs none"):
        one.prepare({})
