"""Providers are built once for what go.mod and go.sum pin, whole or not at all, and who cannot build is told why."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from stack.provisioning import providers
from stack.provisioning.providers import PROVIDERS, NoGo, NotBuilt

GO = """#!/bin/sh
echo "$PWD $*" >> "{folder}/calls"
while [ "$1" != -o ]; do shift; done
mkdir -p "$(dirname "$2")" && echo built > "$2"
"""
BROKEN = "#!/bin/sh\necho 'proxy.golang.org: no such host' >&2\nexit 1\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(CHECKOUT / "terraform" / "tools", tmp_path / "terraform" / "tools")
    return tmp_path


def with_go(folder: Path, script: str) -> dict[str, str]:
    """An environment whose `go` is a script."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "go").write_text(script.format(folder=folder))
    (folder / "bin" / "go").chmod(0o755)
    return {"PATH": f"{folder / 'bin'}:{os.defpath}", "HOME": str(folder)}


def test_each_provider_is_built_once_and_told_of(checkout: Path) -> None:
    environment, said = with_go(checkout, GO), list[str]()
    made = providers.build(checkout, environment, said.append)
    assert [provider.file(folder).read_text() for provider, folder in zip(PROVIDERS, made, strict=True)] == [
        "built\n"
    ] * len(PROVIDERS)
    assert made[0].parent == checkout / ".cache" / "kappa" / "terraform"
    assert len(said) == 2 * len(PROVIDERS)
    providers.build(checkout, environment, said.append)
    assert len((checkout / "calls").read_text().splitlines()) == len(PROVIDERS)
    assert len(said) == 2 * len(PROVIDERS)


def test_another_pin_is_another_provider(checkout: Path) -> None:
    environment = with_go(checkout, GO)
    before = providers.build(checkout, environment, print)
    pins = checkout / "terraform" / "tools" / "kafka" / "go.sum"
    pins.write_text(pins.read_text() + "\n")
    assert [provider.name for provider in providers.missing(checkout, environment)] == ["kafka"]
    after = providers.build(checkout, environment, print)
    assert [a != b for a, b in zip(after, before, strict=True)] == [provider.name == "kafka" for provider in PROVIDERS]


def test_who_has_no_go_is_told_what_to_do(checkout: Path) -> None:
    environment = {"PATH": str(checkout / "empty"), "HOME": str(checkout)}
    with pytest.raises(NoGo, match=r"kafka, local are not built yet.*Install Go"):
        providers.build(checkout, environment, print)


def test_where_go_fails_nothing_is_left_and_its_words_are_told(checkout: Path) -> None:
    environment = with_go(checkout, BROKEN)
    with pytest.raises(NotBuilt, match=r"(?s)provider kafka 0.13.1.*no such host"):
        providers.build(checkout, environment, print)
    assert list(providers.cache(environment).iterdir()) == []
