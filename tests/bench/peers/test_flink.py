"""What Flink is told: the job in SQL from the right offsets, without a password, and where it keeps its state."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.peers import flink
from bench.peers.engines import Task
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings

PASSWORD = "not-to-be-seen"


@pytest.fixture
def task(tmp_path: Path) -> Task:
    """One of a stack whose administrator of Kafka has a password."""
    stack = Settings(tmp_path)
    file = stack.kafka_access(KafkaUser.ADMIN).file
    file.parent.mkdir(parents=True)
    file.write_text(f"sasl.mechanism=SCRAM-SHA-512\nsasl.username=kafka_admin\nsasl.password={PASSWORD}\n")
    file.chmod(0o600)
    return Task(stack, tmp_path, {1: 20, 0: 10})


def test_it_reads_from_the_tasks_offsets(task: Task) -> None:
    assert "'scan.startup.specific-offsets' = 'partition:0,offset:10;partition:1,offset:20'" in flink.statements(task)


def test_no_password_is_in_the_statements_but_the_file_that_has_it(task: Task) -> None:
    said = flink.statements(task)
    assert PASSWORD not in said
    assert f"{task.settings.kafka_access(KafkaUser.ADMIN).file}:sasl.password" in said
    assert "password=" not in said.split("'url' = ")[1].split("\n")[0]


def test_a_quote_in_a_setting_does_not_end_it(task: Task) -> None:
    login = next(line for line in flink.statements(task).splitlines() if "sasl.jaas.config" in line)
    assert login.strip().startswith("'properties.sasl.jaas.config' = 'org.apache")
    assert flink._quoted("it's") == "'it''s'"


def test_each_statement_is_whole_and_nothing_is_left_to_fill_in(task: Task) -> None:
    statements = flink.statements(task).split("\n---\n")
    assert [statement.split()[0] for statement in statements] == ["create"] * 4 + ["insert"]
    assert all(statement.count("(") == statement.count(")") for statement in statements)


def test_checkpoints_lie_in_the_tasks_folder_and_come_as_often_as_asked(task: Task) -> None:
    told = flink.configuration(task.folder, 1, 2, 10_000)
    assert told["execution.checkpointing.interval"] == "10000 ms"
    assert told["execution.checkpointing.dir"] == f"file://{task.folder}/checkpoints"
    assert told["state.backend.type"] == "rocksdb"
