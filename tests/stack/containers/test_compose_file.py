"""docker-compose.yml, held against the code: names, ports and settings have one source, and no container may do more
than it needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from cli.entry import CHECKOUT
from kappa.core.installation import layers
from kappa.core.installation.settings import Settings
from stack.alerts.memory import MemoryFile
from stack.containers import brokers, installation, names
from stack.containers.names import Chosen, Group, chosen
from stack.monitor import process
from stack.provisioning import providers
from stack.services import airflow

COMPOSE: dict[str, Any] = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (CHECKOUT / "docker" / "Dockerfile").read_text()
EXAMPLE = dict(
    line.split("=", 1)
    for line in (CHECKOUT / ".env.example").read_text().splitlines()
    if re.match(r"[A-Z_0-9]+=", line)
)
INIT = {"secrets", "stores", "airflow-init"}
GROUP_OF = {
    **dict.fromkeys(names.BROKERS, Group.BROKER),
    names.POSTGRES: Group.POSTGRES,
    names.MASTER: Group.MASTER,
    names.WORKER: Group.WORKER,
    "stores": Group.STORES,
    names.MONITOR: Group.MONITOR,
    names.S3: Group.S3,
    **dict.fromkeys((*airflow.COMMANDS, "airflow-init"), Group.AIRFLOW),
}
DEFAULT = re.compile(r"\$\{([A-Z_0-9]+):-([^}]*)\}")
each = pytest.mark.parametrize("name", SERVICES)


def resolved(text: object) -> str:
    """A text with what stands in it by default."""
    return DEFAULT.sub(lambda found: found[2], str(text))


def mounts(name: str) -> dict[str, str]:
    """What a service mounts, by where."""
    pairs = (volume.split(":") for volume in SERVICES[name].get("volumes", ()) if ":" in volume)
    return {pair[1]: pair[0] for pair in pairs}


def test_the_services_are_those_that_the_code_names() -> None:
    assert {*GROUP_OF, "secrets"} == set(SERVICES)
    assert names.AIRFLOW_API == airflow.API


@each
def test_a_service_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "user" not in service, "the image's own user is not root"
    assert not {"privileged", "cap_add", "pid", "ipc", "devices"} & set(service)
    assert service["mem_limit"]
    assert service["logging"]["options"].keys() == {"max-size", "max-file"}


@each
def test_what_goes_on_is_watched_and_kept(name: str) -> None:
    service = SERVICES[name]
    assert ("healthcheck" in service) == (name not in INIT)
    assert service.get("restart", "no") == ("no" if name in INIT else "unless-stopped")


@each
def test_a_container_sees_the_secrets_of_its_group_only(name: str) -> None:
    seen = mounts(name)
    if name == "secrets":
        assert seen == {"/host": "./targets/compose"} | {f"/given/{group}": f"given-{group}" for group in Group}
        assert SERVICES[name]["network_mode"] == "none"
        return
    assert seen[str(names.GIVEN)] == f"given-{GROUP_OF[name]}"
    others = {source for where, source in seen.items() if where != str(names.GIVEN)}
    assert not {source for source in others if source.startswith("given-")}
    there = "./targets/compose/state/alerts" if name == names.MONITOR else "./targets/compose/shared"
    assert {source for source in others if source.startswith(".")} <= {there}


def test_each_volume_is_used() -> None:
    used = {source for name in SERVICES for source in mounts(name).values() if not source.startswith(".")}
    assert used == set(COMPOSE["volumes"])


def test_every_port_is_of_the_loopback_and_the_one_that_the_code_tells() -> None:
    told = Chosen()
    expected = {
        f"127.0.0.1:{told.postgres_port}:{names.POSTGRES_PORT}",
        f"127.0.0.1:{told.rest_port}:{names.REST_PORT}",
        f"127.0.0.1:{told.ui_port}:{names.UI_PORT}",
        f"127.0.0.1:{told.airflow_port}:{names.AIRFLOW_PORT}",
        f"127.0.0.1:{told.monitor_port}:{names.MONITOR_PORT}",
        f"127.0.0.1:{told.s3_port}:{names.S3_PORT}",
        *(f"127.0.0.1:{port}:{names.HOST_PORT}" for port in told.kafka_ports),
    }
    assert {resolved(port) for service in SERVICES.values() for port in service.get("ports", ())} == expected


def test_the_monitor_listens_where_its_port_leads_to_and_remembers_where_the_command_looks() -> None:
    service, memory = SERVICES[names.MONITOR], MemoryFile(names.STATE).folder
    text = installation.text(installation.inside(Chosen()), Chosen())
    told = layers.build("the file", Settings, tomllib.loads(text), Settings(names.STATE))
    told = layers.build("the service", Settings, layers.of_environment(service["environment"]), told)
    told.metrics.check()
    assert (told.metrics.address, told.metrics.url, told.ports.monitor) == ("0.0.0.0", "", names.MONITOR_PORT)
    assert f"/{names.MONITOR_PORT}" in service["healthcheck"]["test"][-1]
    assert service["command"] == ["python", "-m", process.__spec__.name]
    outside = CHECKOUT / mounts(names.MONITOR)[str(memory)]
    assert outside == MemoryFile(CHECKOUT / "targets" / "compose" / "state").folder
    assert outside.is_dir(), "or the engine would make it, as root's"


def test_what_may_be_chosen_reaches_the_jobs_and_is_in_the_example() -> None:
    used = dict(DEFAULT.findall((CHECKOUT / "docker-compose.yml").read_text()))
    assert used == EXAMPLE
    for job in ("secrets", "stores"):
        environment = {name: resolved(value) for name, value in SERVICES[job]["environment"].items()}
        ports = map(names.broker_variable, (1, 2, 3))
        assert set(environment) == {*names.VARIABLES.values(), *ports, names.PROFILES_VARIABLE}
        assert chosen(environment) == Chosen()


def test_the_profiles_that_start_more_are_those_that_the_code_names() -> None:
    started = {name: service["profiles"] for name, service in SERVICES.items() if "profiles" in service}
    assert started == {**{broker: [names.THREE_BROKERS] for broker in names.BROKERS[1:]}, names.S3: [names.S3]}


def test_no_password_is_in_an_environment_or_in_the_example() -> None:
    told = [name for service in SERVICES.values() for name in service.get("environment", {})]
    assert told
    assert [name for name in (*told, *EXAMPLE) if re.search("PASS|SECRET|TOKEN|KEY|CREDENTIAL", name)] == []


def test_the_folders_of_the_image_are_those_that_the_code_names() -> None:
    assert f"install -d -o kappa -m 0700 {names.STATE} {names.GIVEN}" in DOCKERFILE
    assert f"-m 0755 {names.SHARED}" in DOCKERFILE
    assert f"COPY . {names.CODE}" in DOCKERFILE
    assert f"/opt/jars/spark {names.JARS}" in DOCKERFILE
    assert f"/opt/jars/s3 {names.S3_JARS}" in DOCKERFILE
    assert f"for group in {' '.join(Group)}; do" in DOCKERFILE
    assert str(brokers.DATA) in (CHECKOUT / "docker" / "kafka.sh").read_text()


def test_scripts_start_the_services_on_the_ports_that_the_code_names() -> None:
    script = (CHECKOUT / "docker" / "spark.sh").read_text()
    ports = (names.MASTER_PORT, names.REST_PORT, names.UI_PORT)
    assert [f"--port {ports[0]}", f"rest.port={ports[1]}", f"--webui-port {ports[2]}"] == [
        found
        for found in (f"--port {ports[0]}", f"rest.port={ports[1]}", f"--webui-port {ports[2]}")
        if found in script
    ]
    for name, arguments in airflow.COMMANDS.items():
        assert SERVICES[name]["command"] == ["airflow", *arguments]


def test_the_image_has_the_uv_of_the_checkout() -> None:
    version = re.search(r"^uv_version=(\S+)", (CHECKOUT / "kappa").read_text(), re.M)
    assert version
    assert f"ARG UV_VERSION={version[1]}\n" in DOCKERFILE


@pytest.mark.parametrize("target", ["kafka", "s3", "spark", "airflow", "postgres"])
def test_the_user_of_an_image_is_the_one_that_was_asked_for(target: str) -> None:
    """Not every builder hands an argument on from one stage to the next, and USER with nothing is root."""
    stage = re.split(rf"^FROM \S+ AS {target}$", DOCKERFILE, flags=re.M)[1].split("\nFROM ")[0]
    assert "\nARG KAPPA_UID=1000\n" in stage
    assert re.findall(r"^USER (\S+)", stage, re.M)[-1] == "${KAPPA_UID}"


def test_a_new_folder_of_code_is_kept_out_of_the_images_until_it_is_named() -> None:
    lines = (CHECKOUT / ".dockerignore").read_text().splitlines()
    assert lines[1] == "*"
    named = {line[1:] for line in lines if line.startswith("!")}
    assert {"stack", "plugins", "jobs", "dags", "great_expectations"} <= named
    assert not named & {"targets", "tests", ".env", ".git", ".kappa"}


def test_both_installation_files_name_the_same_log() -> None:
    choice = Chosen(brokers=3, partitions=12, retention_hours=1)
    inside = installation.text(installation.inside(choice), choice)
    outside = installation.text(installation.outside(choice), choice)
    assert inside.split("[topic]")[1] == outside.split("[topic]")[1]
    assert "localhost:29092,localhost:29093,localhost:29094" in outside
    assert "kafka-1:9092,kafka-2:9092,kafka-3:9092" in inside


def compose() -> list[str]:
    """The command of compose; skips where there is none."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) and not subprocess.run([*command, "version"], capture_output=True).returncode:
            return command
    built = providers.COMPOSE.file(providers.mirrors(CHECKOUT, os.environ, [providers.COMPOSE])["docker-compose"])
    if built.exists():
        return [str(built)]
    pytest.skip("SKIPPED: docker-compose.yml was not read by docker compose, which is not on this machine")


@pytest.mark.parametrize("profiles", ["", "three-brokers", "s3"])
def test_compose_takes_the_file(profiles: str) -> None:
    command = [*compose(), "--env-file", ".env.example", "--profile", profiles, "config", "-q"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_misspelt_key_is_seen_by_compose(tmp_path: Path) -> None:
    text = (CHECKOUT / "docker-compose.yml").read_text().replace("mem_limit:", "memory_limit:")
    (tmp_path / "docker-compose.yml").write_text(text)
    done = subprocess.run([*compose(), "config", "-q"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert "memory_limit" in done.stderr
