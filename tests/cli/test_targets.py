"""`--target NAME`: the installation file of a folder, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli import entry
from cli.commands import stack
from cli.entry import UnknownTarget
from cli.main import application
from kappa.core.installation.settings import Settings, from_environment

ELSEWHERE = """
[kafka]
bootstrap = "localhost:1"
ca = "./secrets/ca.pem"
[postgres]
host = "localhost"
[spark]
master = "spark://m:7077"
rest = ["http://localhost:1"]
ui = ["http://localhost:1"]
[airflow]
url = "http://localhost:1"
[places]
secrets = "./secrets"
"""


def written(checkout: Path, name: str) -> Path:
    """The folder of a target whose installation file is there."""
    folder = checkout / "targets" / name
    folder.mkdir(parents=True)
    (folder / "kappa.toml").write_text(ELSEWHERE)
    return folder


def chosen(checkout: Path, name: str) -> Settings:
    environment: dict[str, str] = {"KAPPA_HOME": "/elsewhere", "KAPPA_SETTINGS": "/elsewhere/kappa.toml"}
    entry.choose_target(name, checkout, environment)
    return from_environment(checkout, environment)


def test_a_target_has_its_own_file_and_folders(tmp_path: Path) -> None:
    folder = written(tmp_path, "compose")
    settings = chosen(tmp_path, "compose")
    assert (settings.home, settings.secrets) == (folder / "state", folder / "secrets")
    assert settings.kafka.ca == str(folder / "secrets" / "ca.pem")


def test_a_target_that_nobody_made_is_refused_and_the_known_ones_are_named(tmp_path: Path) -> None:
    written(tmp_path, "compose")
    (tmp_path / "targets" / "aws").mkdir()
    with pytest.raises(UnknownTarget, match="known are compose"):
        chosen(tmp_path, "aws")


def test_the_command_refuses_an_unknown_target_before_it_does_anything() -> None:
    with pytest.raises(UnknownTarget, match="--target nobody-made-this"):
        application()(["--target", "nobody-made-this", "status"], standalone_mode=False)


def test_up_starts_no_embedded_stack_for_an_installation_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, "compose")
    started: list[object] = []
    monkeypatch.setattr(stack, "up", lambda *given: started.append(given))
    monkeypatch.setattr(entry, "settings", lambda: chosen(tmp_path, "compose"))
    with pytest.raises(stack.Elsewhere, match="docker compose"):
        stack._up()
    with pytest.raises(stack.Elsewhere, match="docker compose"):
        stack._down()
    assert not started
