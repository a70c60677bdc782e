"""`targets/local` refuses the files of docker compose, and says who makes topic, users and rights there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from kappa.core.installation.kafka_access import MECHANISM, KafkaUser
from kappa.core.installation.settings import Settings, load
from stack.containers import brokers, names, prepare
from stack.containers.names import Chosen, Group
from stack.provisioning import log_access, providers
from stack.provisioning.terraform import Target, TerraformFailed
from tests.stack.provisioning import terraform_tree


@pytest.fixture
def compose(tmp_path: Path) -> Settings:
    """The installation file of docker compose for this machine, after the job `secrets`."""
    target = tmp_path / "compose"
    for name in ("secrets", "shared", "state/alerts", *(f"given/{group}" for group in Group)):
        (target / name).mkdir(parents=True)
    prepare.make_secrets(target, target / "given", Chosen())
    return load(target / "state", {})


def test_the_administrator_of_the_containers_is_let_in_from_containers_only(compose: Settings) -> None:
    """So nobody on this machine could make topic and users by what the installation file says."""
    held = brokers.properties(prepare.inside(Chosen()), Chosen(), 1)
    assert compose.kafka_access(KafkaUser.ADMIN).librdkafka()[MECHANISM] == "PLAIN"
    assert f"listener.name.{brokers.HOST.lower()}.sasl.enabled.mechanisms=SCRAM-SHA-512\n" in held
    assert compose.kafka.bootstrap == f"localhost:{Chosen().kafka_ports[0]}"
    assert f"{brokers.HOST}://:{names.HOST_PORT}" in held


@pytest.mark.timeout(300)
def test_the_installation_file_of_compose_is_refused_with_what_to_do(compose: Settings, tmp_path: Path) -> None:
    terraform_tree.needed("targets/local")
    mirrors = list(providers.mirrors(CHECKOUT, os.environ).values())
    target = Target("local", CHECKOUT, tmp_path / "terraform", mirrors, dict(os.environ))
    target.prepare(log_access.variables(compose, adopt=True))
    with pytest.raises(TerraformFailed) as told:
        target.changes()
    said = " ".join(str(told.value).split())
    assert "are those of docker compose" in said
    assert "its init job 'stores' makes topic, users and rights" in said
    assert "Nothing was contacted" in said
