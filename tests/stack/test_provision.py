"""Who asked for Terraform gets the topic by it, or is told before anything is started what is missing; who did not ask
needs none."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from cli.entry import CHECKOUT
from kappa.core.installation.kafka_access import RIGHTS
from kappa.core.installation.settings import Settings
from stack import up as bringing
from stack.layout import Layout
from stack.provisioning import log_access, providers
from stack.provisioning.providers import NoGo, NotBuilt
from stack.provisioning.terraform import NoTerraform
from stack.services import kafka
from stack.up import Provision, up
from tests.rigs.small_stack import folder
from tests.stack.provisioning import terraform_tree


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


def test_where_go_cannot_build_a_provider_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "terraform").touch(mode=0o755)
    (tmp_path / "go").write_text("#!/bin/sh\necho 'no such host' >&2\nexit 1\n")
    (tmp_path / "go").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.defpath}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(NotBuilt, match=r"(?s)provider kafka .* It said:\n  no such host\n.*Nothing was started"):
        up(Settings(tmp_path / "state"), CHECKOUT, provision=Provision.TERRAFORM)
    assert not (tmp_path / "state").exists()


def test_by_default_the_stack_makes_its_topic_itself(tmp_path: Path) -> None:
    layout = Layout(Settings(tmp_path / "state"), tmp_path, {"PATH": str(tmp_path)})
    assert bringing._topic_maker(layout, Provision.BUILT_IN, print) is kafka.ensure_topic


@pytest.fixture
def kafka_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Layout]:
    """A stack that is not up, of which `up` starts the broker only, and whose own making of the topic fails."""
    if why := terraform_tree.lacking():
        pytest.skip(why)
    for part in ("_spark", "_postgres", "_airflow", "_monitor"):
        monkeypatch.setattr(bringing, part, _left_out)
    monkeypatch.setattr(kafka, "ensure_topic", _not_asked_for)
    with folder(partitions=2) as layout:
        yield layout


def _left_out(*_: object) -> bool:
    return False


def _not_asked_for(*_: object) -> None:
    raise AssertionError("the stack made the topic by itself, and Terraform was asked for")


@pytest.mark.rig
@pytest.mark.long(minutes=1)
def test_up_by_terraform_ends_with_topic_and_users_that_terraform_made(kafka_alone: Layout) -> None:
    settings, said = kafka_alone.settings, list[str]()
    up(settings, CHECKOUT, said.append, Provision.TERRAFORM)
    target = log_access.target(kafka_alone, said.append)
    made = {(one["type"], one["name"]) for one in json.loads(target.state.read_text())["resources"]}
    assert {
        ("kafka_topic", "log"),
        ("kafka_user_scram_credential", "user"),
        ("kafka_acl", "right"),
        ("kafka_quota", "rate"),
    } == made
    assert "Apply complete! Resources:" in target.log.read_text()
    assert any(line.startswith("the stack is up after") for line in said)
    for user in RIGHTS:
        topics = AdminClient(settings.kafka_access(user).librdkafka()).list_topics(timeout=30).topics
        assert len(topics[settings.topic.name].partitions) == 2, f"{user} is not let in, or sees no topic"
    up(settings, CHECKOUT, said.append, Provision.TERRAFORM)
    last = target.log.read_text().rpartition("Apply complete! ")[2]
    assert last.startswith("Resources: 0 added, 0 changed, 0 destroyed."), "repeated, it changes nothing"
