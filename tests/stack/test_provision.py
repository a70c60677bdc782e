"""Who asked for Terraform and has none is told before anything is started; who did not ask needs none."""

from __future__ import annotations

from pathlib import Path

import pytest

from kappa.core.installation.settings import Settings
from stack import up as bringing
from stack.layout import Layout
from stack.provisioning import providers
from stack.provisioning.providers import NoGo
from stack.provisioning.terraform import NoTerraform
from stack.services import kafka
from stack.up import Provision, up


def test_without_terraform_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(NoTerraform, match="Nothing was started"):
        up(Settings(tmp_path / "state"), tmp_path, provision=Provision.TERRAFORM)
    assert list(tmp_path.iterdir()) == []


def test_without_providers_and_go_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "terraform").touch(mode=0o755)
    monkeypatch.setattr(providers, "missing", lambda *_: list(providers.PROVIDERS))
    monkeypatch.setattr(providers, "mirrors", lambda *_: {})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoGo, match="Install Go"):
        up(Settings(tmp_path / "state"), tmp_path, provision=Provision.TERRAFORM)
    assert not (tmp_path / "state").exists()


def test_by_default_the_stack_makes_its_topic_itself(tmp_path: Path) -> None:
    layout = Layout(Settings(tmp_path / "state"), tmp_path, {"PATH": str(tmp_path)})
    assert bringing._topic_maker(layout, Provision.BUILT_IN, print) is kafka.ensure_topic
