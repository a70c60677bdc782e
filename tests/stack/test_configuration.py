"""Rendered configuration: what the stack's processes are told, without starting any."""

from __future__ import annotations

import configparser
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from supervisor.options import ServerOptions

from kappa.core.installation.settings import Settings
from stack import supervision
from stack.layout import Layout
from stack.programs import Program
from stack.services import airflow, kafka, passwords, readiness


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A layout in a folder whose name has a space and a percent sign, with passwords made."""
    settings = Settings(home=tmp_path / "state 100%")
    passwords.make(settings)
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    return Layout(settings, tmp_path / "the checkout", {"PATH": str(tmp_path), "AWS_SECRET": "not ours to pass on"})


def all_secrets(layout: Layout) -> list[str]:
    """Every password and key of the stack."""
    words = [file.read_text().strip().rsplit(":", 1)[1] for file in layout.settings.secrets.glob("*.pgpass")]
    users = [passwords.airflow_login(layout.settings, name)[1] for name in passwords.AIRFLOW_USERS]
    words += [layout.settings.spark_key.read_text(), passwords.spark_secret(layout.settings)]
    return [*words, *users, *passwords.airflow_keys(layout.settings).values()]


def test_secret_files_are_private_and_made_once(layout: Layout) -> None:
    before = all_secrets(layout)
    passwords.make(layout.settings)
    assert all_secrets(layout) == before
    assert len(set(before)) == 15
    assert layout.settings.secrets.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in layout.settings.secrets.iterdir()} == {0o600}


def test_no_secret_in_a_command_or_an_environment(layout: Layout) -> None:
    programs = readiness.programs(layout)
    text = supervision.render(layout, programs, Path("/s"), root=True) + str(layout.surroundings)
    assert not [secret for secret in all_secrets(layout) if secret in text]


def test_only_what_is_needed_of_the_callers_environment_is_passed_on(layout: Layout) -> None:
    assert set(layout.surroundings) == {"PATH", "KAPPA_STACK", "KAPPA_HOME"}


def test_keys_of_a_bucket_are_kept_from_what_does_not_use_it(layout: Layout) -> None:
    """The supervisor passes its own environment on: what has no business with the bucket gets the keys empty, and the
    file of its configuration never has them."""
    held = {**layout.environment, "AWS_SECRET_ACCESS_KEY": "a-key-of-s3"}
    places = replace(layout.settings.places, store="s3a://bucket/prefix")
    layout = replace(layout, settings=replace(layout.settings, places=places), environment=held)
    assert layout.surroundings["AWS_SECRET_ACCESS_KEY"] == "a-key-of-s3"
    text = supervision.render(layout, readiness.programs(layout), Path("/s"), root=True)
    assert "a-key-of-s3" not in text
    sections = text.split("[program:")[1:]
    kept = {one.split("]")[0] for one in sections if 'AWS_SECRET_ACCESS_KEY=""' in one}
    assert kept == {"kafka", "postgres", "spark-master", "monitor"}


def test_what_a_user_tells_every_jvm_reaches_those_of_the_stack(layout: Layout) -> None:
    told = {**layout.environment, "JAVA_TOOL_OPTIONS": "-Dx=y", "JAVA_HOME": "/elsewhere"}
    kept = replace(layout, environment=told).surroundings
    assert {name: value for name, value in kept.items() if name.startswith("JAVA")} == {"JAVA_TOOL_OPTIONS": "-Dx=y"}


def test_supervisor_reads_back_each_program_as_it_was_given(layout: Layout) -> None:
    programs = readiness.programs(layout)
    for folder in (layout.run, layout.logs):
        folder.mkdir()
    file = layout.run / "supervisord.conf"
    file.write_text(supervision.render(layout, programs, layout.run / "s", root=False))
    options = ServerOptions()
    options.realize(["-c", str(file)])
    read = {group.process_configs[0].name: group.process_configs[0] for group in options.process_group_configs}
    assert set(read) == {program.name for program in programs}
    for program in programs:
        assert_same(program, read[program.name])


def assert_same(program: Program, config: object) -> None:
    """Supervisor's view of a program equals ours."""
    import shlex

    assert shlex.split(config.command) == list(program.command)  # type: ignore[attr-defined]
    assert dict(config.environment or {}) == dict(program.environment)  # type: ignore[attr-defined]
    assert config.stopsignal.name == f"SIG{program.stop_signal}"  # type: ignore[attr-defined]


def test_every_setting_of_a_port_belongs_to_one_program(layout: Layout) -> None:
    used = [name for program in readiness.programs(layout) for name in program.ports]
    assert sorted(used) == sorted(vars(layout.settings.ports))


def test_the_broker_and_postgres_stop_last(layout: Layout) -> None:
    stopped = [name for names in readiness.STOP_ORDER for name in names]
    assert sorted(stopped) == sorted(program.name for program in readiness.programs(layout))
    assert set(readiness.STOP_ORDER[-1]) == {"kafka", "postgres"}


def test_the_broker_listens_on_loopback_only() -> None:
    text = kafka.properties(Settings(home=Path("/h")), Path("/h/kafka/data"))
    values = dict(line.split("=", 1) for line in text.splitlines())
    listeners = values["listeners"].split(",") + values["advertised.listeners"].split(",")
    assert all(listener.split("://")[1].startswith("127.0.0.1:") for listener in listeners)
    assert values["auto.create.topics.enable"] == "false"


def test_airflow_reads_its_password_from_a_file(layout: Layout) -> None:
    config = configparser.ConfigParser()
    config.read_string(airflow.configuration(layout))
    for option in ("sql_alchemy_conn", "sql_alchemy_conn_async"):
        url = config["database"][option]
        assert url.endswith("/state%20100%25/secrets/airflow.pgpass")
        assert "airflow@127.0.0.1" in url
    assert config["api"]["host"] == "127.0.0.1"
    assert config["core"]["dags_folder"] == str(layout.checkout / "dags")


def test_a_deep_state_folder_gets_a_short_private_socket(tmp_path: Path) -> None:
    layout = Layout(Settings(home=tmp_path / ("d" * 120)), tmp_path)
    layout.run.mkdir(parents=True)
    path = supervision.Supervisor(layout)._make_socket()
    assert path == supervision.Supervisor(layout)._make_socket()
    assert path.parent.stat().st_mode & 0o777 == 0o700
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
    path.unlink()
    path.parent.rmdir()
