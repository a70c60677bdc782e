"""`targets/aws` applied for real, to a server that stands in for AWS: it ends, holds no secret, and boots a worker."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from cli.entry import CHECKOUT
from kappa.core.installation.kafka_access import PASSWORD, KafkaUser
from kappa.core.installation.settings import load
from stack.provisioning import host_secrets, providers
from stack.provisioning.terraform import Target
from stack.services import passwords
from tests.rigs.aws.standing_in import StandingIn, standing_in
from tests.rigs.held_secrets import found, secrets_of
from tests.stack.provisioning import terraform_tree
from tests.stack.provisioning.terraform_tree import TREE, timed

pytestmark = [pytest.mark.provisioning, pytest.mark.long(minutes=0.5)]
AIRFLOW = "airflow.kappa.internal"
FORGOTTEN = {
    # The group takes the newest version of the template.
    "aws_autoscaling_group": {"capacity_reservation_specification", "launch_template"},
    "aws_db_instance": {"performance_insights_enabled", "performance_insights_kms_key_id"},
    "aws_db_parameter_group": {"parameter"},
    "aws_launch_template": {"tag_specifications"},
    "aws_route53_zone": {"vpc"},
    "aws_vpc_security_group_egress_rule": {"description"},
    "aws_vpc_security_group_ingress_rule": {"description"},
}
"""What moto does not keep as it was told, so that a second plan would set it again."""
LOCAL = 'provider "aws" {\n  s3_use_path_style       = true\n  skip_metadata_api_check = true\n}\n'
STUBS = {
    "install": 'exec /usr/bin/install $(echo " $* " | sed "s/ -o kappa / /")',
    "chown": ":",
    "mount": 'echo "mount $*" >> "$TOLD"',
    "systemctl": 'echo "systemctl $*" >> "$TOLD"',
}


@dataclass(frozen=True)
class Applied:
    """The target as it was applied, and where."""

    target: Target
    aws: StandingIn
    folder: Path

    @property
    def secrets(self) -> Path:
        return self.folder / "made" / "secrets"

    @cached_property
    def resources(self) -> dict[str, dict[str, Any]]:
        """What Terraform's state has, by address."""
        told = json.loads(self.target.state.read_text())["resources"]
        return {
            f"{one['type']}.{one['name']}.{each.get('index_key', '')}": each["attributes"]
            for one in told
            for each in one["instances"]
        }

    def changes(self) -> dict[str, set[str]]:
        """By kind of resource, what a plan would change of it; '' stands for all of it."""
        assert self.target.run("plan", "-out=again.tfplan").returncode == 0
        shown = self.target.run("show", "-json", "again.tfplan").stdout
        planned = json.loads(shown[shown.index("{") :])["resource_changes"]
        found: dict[str, set[str]] = {}
        for one in planned:
            change = one["change"]
            if change["actions"] not in (["no-op"], ["read"]):
                before, after = change["before"] or {}, change["after"] or {}
                differ = {name for name in after if before.get(name) != after[name]} if before and after else {""}
                found.setdefault(one["type"], set()).update(differ)
        return found


@pytest.fixture(scope="module")
def applied() -> Iterator[Applied]:
    terraform_tree.needed("targets/aws")
    folder = Path(tempfile.mkdtemp(prefix="kappa-aws-"))
    try:
        (folder / "made").mkdir()
        to = folder / "made"
        ours = load(to, {**os.environ, "KAPPA_SETTINGS": str(TREE / "targets" / "aws" / "secrets.toml")})
        host_secrets.make(ours, to, [AIRFLOW])
        with standing_in(folder) as aws:
            yield _apply(aws, folder)
    finally:
        rmtree(folder, ignore_errors=True)


def _apply(aws: StandingIn, folder: Path) -> Applied:
    mirrors = [*providers.mirrors(CHECKOUT, os.environ).values(), terraform_tree.aws_mirror()]
    target = Target("aws", CHECKOUT, folder / "terraform", [one for one in mirrors if one], aws.environment)
    images = json.loads(aws.aws("ec2", "describe-images", "--owners", "amazon", "--output", "json"))["Images"]
    image = next(one["ImageId"] for one in images if one["Architecture"] == "x86_64" and one.get("RootDeviceName"))
    root = folder / "host"
    target.prepare(
        {
            "region": "eu-central-1", "secrets": str(folder / "made" / "secrets"), "image": image, "keep": False,
            "load": {"events_per_second": 2000, "retention_days": 7},
            "places": {
                "config": str(root / "kappa"), "secrets": str(root / "kappa" / "secrets"),
                "shared": str(root / "mnt"), "data": str(root / "data"),
            },
        }
    )  # fmt: skip
    (target.folder / "targets" / "aws" / "here_override.tf").write_text(LOCAL)
    with timed("apply of targets/aws"):
        done = target.run("apply", "-auto-approve")
    assert done.returncode == 0, done.stdout
    print(re.findall(r"Apply complete! .*", done.stdout))
    return Applied(target, aws, folder)


def test_a_second_plan_changes_nothing_that_the_server_keeps(applied: Applied) -> None:
    changes = applied.changes()
    assert {kind: more for kind, names in changes.items() if (more := names - FORGOTTEN.get(kind, set()))} == {}


def test_no_secret_is_in_state_plan_or_log(applied: Applied) -> None:
    applied.changes()
    ours = load(applied.folder / "made", {"KAPPA__PLACES__SECRETS": str(applied.secrets)})
    held = secrets_of(ours, [passwords.AIRFLOW_ROLE], (applied.secrets / "tls").glob("*.key"))
    told = [file for file in applied.target.folder.rglob("*") if file.is_file() and ".terraform" not in file.parts]
    assert {applied.target.state, applied.target.log} <= set(told)
    assert applied.target.folder / "targets" / "aws" / "again.tfplan" in told
    assert found(held, {str(file): file.read_bytes() for file in told}) == []


def test_kafkas_users_are_where_msk_looks_for_them(applied: Applied) -> None:
    said = applied.aws.aws(
        "secretsmanager", "get-secret-value", "--secret-id", "AmazonMSK_kappa_kafka_stream",
        "--query", "SecretString", "--output", "text",
    )  # fmt: skip
    ours = load(applied.folder / "made", {"KAPPA__PLACES__SECRETS": str(applied.secrets)})
    held = ours.kafka_access(KafkaUser.STREAM).librdkafka()
    assert json.loads(said) == {"username": "kafka_stream", "password": held[PASSWORD]}


def test_a_role_may_read_the_secrets_of_its_hosts_and_no_others(applied: Applied) -> None:
    given = json.loads((TREE / "targets" / "aws" / "secrets.json").read_text())
    policy = json.loads(applied.resources["aws_iam_role_policy.host.spark_worker"]["policy"])
    allowed = {action for one in policy["Statement"] for action in _listed(one["Action"])}
    assert not {action for action in allowed if "*" in action}
    (secrets,) = (one for one in policy["Statement"] if one["Sid"] == "ItsSecrets")
    arns = {name: applied.resources[f"aws_secretsmanager_secret.file.{name}"]["arn"] for name in given["spark_worker"]}
    assert set(_listed(secrets["Resource"])) == set(arns.values())


def test_a_worker_starts_from_what_it_is_given(applied: Applied) -> None:
    root, programs = applied.folder / "host", applied.folder / "bin"
    for folder in (root / "etc", root / "units", programs):
        folder.mkdir(parents=True)
    for name, body in STUBS.items():
        (programs / name).write_text(f"#!/bin/sh\n{body}\n")
        (programs / name).chmod(0o755)
    applied.aws.put_command_line(programs)
    script = _boot_script(applied).replace("/etc/fstab", f"{root}/etc/fstab")
    script = script.replace("/etc/systemd/system/", f"{root}/units/")
    environment = applied.aws.environment | {"PATH": f"{programs}:{os.environ['PATH']}", "TOLD": str(root / "told")}
    with timed("a worker's start"):
        done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    postgres = applied.resources["aws_db_instance.rows."]["address"]
    ours = applied.secrets / "kappa_writer.pgpass"
    given = root / "kappa" / "secrets"
    assert (given / ours.name).read_text() == ours.read_text().replace("postgres.invalid", postgres).strip()
    stream = "kafka_stream.properties"
    assert (given / stream).read_text() == (applied.secrets / stream).read_text().strip()
    assert {file.stat().st_mode & 0o777 for file in given.iterdir()} == {0o600}
    # The server that stands for AWS names brokers by the cluster's ARN, which is no host's name.
    file = root / "kappa" / "kappa.toml"
    file.write_text(re.sub(r"arn:aws:kafka:[^,\s]*:cluster\.", "cluster.", file.read_text()))
    settings = load(root, {"KAPPA_SETTINGS": str(file)})
    assert settings.postgres.host == postgres
    assert settings.kafka.bootstrap.endswith(":9096")
    assert "--host %H --cores 4 --memory 13312m" in (root / "units/kappa-spark-worker.service").read_text()
    assert (root / "told").read_text().splitlines() == [
        f"mount {root}/mnt", "systemctl daemon-reload", "systemctl enable --now kappa-spark-worker.service",
    ]  # fmt: skip


def test_a_new_password_is_seen_and_nothing_else(applied: Applied) -> None:
    file = applied.secrets / "kafka_reader.properties"
    before = file.read_text()
    ours = load(applied.folder / "made", {"KAPPA__PLACES__SECRETS": str(applied.secrets)})
    passwords.write_user(ours, KafkaUser.READER)
    try:
        changes = applied.changes()
    finally:
        file.write_text(before)
    assert changes["aws_secretsmanager_secret_version"] >= {"secret_string_wo_version"}
    assert changes.keys() - FORGOTTEN.keys() == {"aws_secretsmanager_secret_version"}


def test_the_log_is_not_destroyed(applied: Applied) -> None:
    done = applied.target.run("destroy", "-auto-approve")
    assert done.returncode == 1
    assert re.search(r"aws_msk_cluster\.log\s+has\s+lifecycle\.prevent_destroy", done.stdout), done.stdout[-2000:]


def _boot_script(applied: Applied) -> str:
    return base64.b64decode(applied.resources["aws_launch_template.worker."]["user_data"]).decode()


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
