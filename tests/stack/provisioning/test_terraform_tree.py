"""What holds of `terraform/` without a broker: its form, its types, its mock tests, and that it names what we name."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest

from kappa.core.installation import needs
from kappa.core.installation.kafka_access import RIGHTS, KafkaUser
from kappa.core.installation.settings import ROLES, Topic
from stack.provisioning import providers, role_secrets
from stack.services import airflow_connections, kafka, kafka_users
from tests.stack.provisioning import terraform_tree
from tests.stack.provisioning.terraform_tree import TREE, initialised, terraform

ACCESS = TREE / "modules" / "kafka_access"
ROOTS = sorted(str(file.parent.relative_to(TREE)) for file in TREE.glob("*/*/versions.tf"))
WITH_TESTS = sorted({str(file.parents[1].relative_to(TREE)) for file in TREE.rglob("*.tftest.hcl")})


def test_the_tree_was_found() -> None:
    assert {"modules/kafka_access", "targets/local"} <= set(ROOTS)
    assert "modules/kafka_access" in WITH_TESTS


def test_all_files_have_terraforms_own_form() -> None:
    if shutil.which("terraform") is None:
        pytest.skip(terraform_tree.lacking())
    done = terraform(TREE, "fmt", "-check", "-recursive", "-diff")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("root", sorted(set(ROOTS) - set(WITH_TESTS)))
def test_each_module_without_tests_of_its_own_is_valid(root: str, tmp_path: Path) -> None:
    terraform_tree.needed(root)
    done = terraform(initialised(terraform_tree.copy(tmp_path) / root), "validate")
    assert done.returncode == 0, done.stdout


@pytest.mark.timeout(300)
@pytest.mark.parametrize("root", WITH_TESTS)
def test_the_mock_tests_of_each_module_pass(root: str, tmp_path: Path) -> None:
    terraform_tree.needed(root)
    done = terraform(initialised(terraform_tree.copy(tmp_path) / root), "test")
    assert done.returncode == 0, done.stdout
    assert re.search(r"Success! [1-9]\d* passed, 0 failed", done.stdout), done.stdout


def test_users_and_rights_are_those_of_the_code() -> None:
    told = json.loads((ACCESS / "access.json").read_text())
    assert {user: tuple(rights) for user, rights in told["topic"].items()} == {str(u): r for u, r in RIGHTS.items()}
    named = {(str(u), "TOPIC", "the-topic", right) for u, rights in told["topic"].items() for right in rights}
    named |= {(str(u), "GROUP", "*", right) for u, rights in told["groups"].items() for right in rights}
    ours = {
        (acl.principal.removeprefix("User:"), acl.resource_pattern.resource_type.name,
         acl.resource_pattern.resource_name, acl.operation.name)
        for acl in kafka_users.rights("the-topic")
    }  # fmt: skip
    assert named == ours
    local = (TREE / "targets" / "local" / "main.tf").read_text()
    listed = re.search(r"users = (\[.*\])", local)
    assert listed is not None
    assert set(json.loads(listed[1])) == {str(user) for user in KafkaUser}


def test_the_topic_is_that_of_the_settings() -> None:
    topic = Topic()
    for file in [ACCESS / "variables.tf", *(TREE / "targets" / name / "variables.tf" for name in ("local", "aws_log"))]:
        assert defaults(file) >= {
            ("name", f'"{topic.name}"'),
            ("partitions", str(topic.partitions)),
            ("retention_hours", str(topic.retention_hours)),
        }
    written = dict(re.findall(r'"([a-z.]+)" *= (.+)', (ACCESS / "main.tf").read_text()))
    hour = "3600000"
    assert written == {
        "message.timestamp.type": '"LogAppendTime"',
        "retention.ms": f"tostring(var.topic.retention_hours * {hour})",
    }
    assert kafka.configuration(topic) == {
        "message.timestamp.type": "LogAppendTime",
        "retention.ms": str(topic.retention_hours * int(hour)),
    }


def test_airflow_is_given_the_pools_and_connections_that_it_needs() -> None:
    folder = TREE / "modules" / "installation" / "airflow"
    pools = json.loads((folder / "pools.json").read_text())
    wanted = [{"name": pool.name, **{k: v for k, v in asdict(pool).items() if k != "name"}} for pool in needs.POOLS]
    assert [{"name": name, **pool} for name, pool in pools.items()] == wanted
    connections = json.loads((folder / "connections.json").read_text())
    assert connections == {needs.SPARK_CONNECTION: airflow_connections.SPARK_LOCAL}
    assert connections.keys() == needs.CONNECTIONS.keys()


def test_on_aws_the_same_users_and_files_are_known_as_elsewhere() -> None:
    aws = TREE / "targets" / "aws"
    listed = re.search(r"kafka_users += toset\((\[.*\])\)", (aws / "main.tf").read_text())
    assert listed is not None
    assert set(json.loads(listed[1])) == {str(user) for user in RIGHTS}
    told = json.loads((aws / "secrets.json").read_text())
    assert told.keys() == {"spark_master", "spark_worker", "airflow"}
    assert {role: set(files) for role, files in told.items()} == {
        role: set(role_secrets.GIVEN[role_secrets.HostRole(role)]) - set(role_secrets.TLS) for role in told
    }


def test_brokers_on_aws_are_told_what_brokers_on_hosts_are() -> None:
    text = (TREE / "targets" / "aws" / "kafka.tf").read_text()
    aws = dict(re.findall(r"^    ([a-z.]+)=(.+)$", text, re.M))
    template = (TREE / "modules" / "installation" / "templates" / "server.properties.tftpl").read_text()
    copies = {"${copies}": "3", "${least}": "2"}
    hosts = {name: copies.get(value, value) for name, value in re.findall(r"^([a-z.]+)=(.+)$", template, re.M)}
    assert {name: value for name, value in aws.items() if name in hosts} == {
        name: hosts[name] for name in aws if name in hosts
    }
    assert aws.keys() - hosts.keys() == {"allow.everyone.if.no.acl.found", "unclean.leader.election.enable"}
    assert aws["allow.everyone.if.no.acl.found"] == "false"


def test_the_roles_of_postgres_are_those_of_the_code() -> None:
    listed = re.search(r"roles = (\[.*\])\n", (TREE / "modules" / "installation" / "main.tf").read_text())
    assert listed is not None
    assert tuple(json.loads(listed[1])) == ROLES


def test_the_page_on_sizing_has_the_figures_of_the_module() -> None:
    reckoned = terraform_tree.reckoned()
    page = (TREE.parent / "docs" / "sizing.md").read_text()
    rows = dict(re.findall(r"^\| ([^|]+) \| ([\d,]+) \| [^|]+ \|$", page.split("## Held against")[1], re.M))
    figures = {
        "record_bytes": "bytes of a record in the log",
        "state_bytes_per_event": "bytes of an event in the state",
        "kept_bytes_per_event": "bytes of an event in the checkpoint",
        "records_per_core": "records per second on one core",
        "row_bytes": "bytes of a served row",
    }
    assert {name: int(rows[said].replace(",", "")) for name, said in figures.items()} == {
        name: reckoned[name] for name in figures
    }
    assert f"x {reckoned['record_bytes']} bytes, x 3 copies" in page
    assert f"those x {reckoned['state_bytes_per_event']} bytes |" in page
    assert f"those x {reckoned['kept_bytes_per_event']} bytes:" in page
    measured = re.search(r"anything above ([\d,]+) records a second", page)
    assert measured is not None
    refusal = (TREE / "modules" / "sizing" / "variables.tf").read_text().split("error_message = ")[1].splitlines()[0]
    assert re.findall(r"[\d,]{5,}", refusal) == ["200,000", measured[1]]


def test_what_a_host_s_file_would_say_wrongly_is_refused_before_it_is_written() -> None:
    """What the refusals are about, the mock tests hold."""
    text = (TREE / "modules" / "installation" / "variables.tf").read_text()
    bodies = dict(re.findall(r'^variable "(\w+)" \{\n(.*?)^\}$', text, re.M | re.S))
    checked = {name for name, body in bodies.items() if "validation {" in body}
    assert checked >= {"hosts", "kafka", "postgres", "topic", "store", "places", "output", "heap_mb"}
    messages = re.findall(r'error_message = "(.*)"$', text, re.M)
    assert [message for message in messages if not message.endswith(". Nothing was written.")] == []
    runs = (TREE / "modules" / "installation" / "tests" / "refusals.tftest.hcl").read_text()
    refused = set(re.findall(r"expect_failures = \[var\.(\w+)\]", runs))
    assert refused == checked


def test_providers_that_are_asked_for_are_those_that_are_built_or_looked_for() -> None:
    asked = {
        (source.lower(), version)
        for file in TREE.glob("*/*/versions.tf")
        for source, version in re.findall(r'source += "([^"]+)"\s+version = "([^"]+)"', file.read_text())
    }
    known = (*providers.PROVIDERS, terraform_tree.AWS)
    assert asked == {(provider.source, provider.version) for provider in known}


def test_a_password_is_an_ephemeral_variable_wherever_one_is_taken() -> None:
    for file in TREE.glob("*/*/variables.tf"):
        for name, body in re.findall(r'variable "(\w+)" \{\n(.*?)\n\}', file.read_text(), re.S):
            if "password" in name and "versions" not in name:
                assert re.search(r"ephemeral += true", body), f"{file}: {name}"


def test_nothing_that_terraform_leaves_behind_is_in_the_repository() -> None:
    listed = subprocess.run(["git", "ls-files", "terraform"], cwd=TREE.parent, capture_output=True, text=True).stdout
    left = [name for name in listed.split() if ".terraform" in name or "tfstate" in name or name.endswith(".tfplan")]
    assert left == []
    made = [
        f"terraform/targets/local/{name}" for name in (".terraform/x", ".terraform.lock.hcl", "x.tfstate", "p.tfplan")
    ]
    ignored = subprocess.run(["git", "check-ignore", *made], cwd=TREE.parent, capture_output=True, text=True).stdout
    assert ignored.split() == made


def defaults(file: Path) -> set[tuple[str, str]]:
    """The optional attributes of a variables file, with what they are by default."""
    return set(re.findall(r"(\w+) += optional\(\w+, ([^)]+)\)", file.read_text()))
