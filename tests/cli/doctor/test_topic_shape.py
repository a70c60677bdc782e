"""The topic's trial on a real broker: whole, and with another shape than the settings say."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from cli.doctor import topic_shape
from cli.doctor.trial import Tried, carry_out
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from stack.services import kafka_users
from tests.rigs.case import Case
from tests.rigs.plain_passwords import with_files
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig


@pytest.fixture(scope="module")
def case(cases: Rig) -> Case:
    """A topic of this module's own."""
    return cases.case(partitions=2)


def tried(settings: Settings) -> Tried:
    (one,) = (carry_out(trial) for trial in topic_shape.trials(settings) if trial.what.startswith("topic"))
    return one


def users(settings: Settings) -> dict[str, Tried]:
    trials = (trial for trial in topic_shape.trials(settings) if trial.what.startswith("user"))
    return {trial.what: carry_out(trial) for trial in trials}


def test_of_a_topic_as_it_has_to_be_its_shape_is_said(case: Case) -> None:
    assert tried(case.settings).found == "2 partitions, LogAppendTime, 0 records so far"


def test_another_number_of_partitions_is_named(case: Case) -> None:
    finding = tried(replace(case.settings, topic=replace(case.settings.topic, partitions=3))).finding
    assert finding is not None
    assert finding.wrong == "it has 2 partitions, and the settings say 3"


def test_records_that_are_kept_too_short_are_named(case: Case) -> None:
    longer = replace(case.settings.topic, retention_hours=case.settings.topic.retention_hours + 1)
    finding = tried(replace(case.settings, topic=longer)).finding
    assert finding is not None
    assert "a replay reaches no further back" in finding.remedy


def test_a_topic_that_is_not_there_is_named(case: Case) -> None:
    finding = tried(replace(case.settings, topic=replace(case.settings.topic, name="nowhere"))).finding
    assert finding is not None
    assert "kafka_control may not see topic 'nowhere'" in finding.wrong
    assert "or there is none" in finding.wrong


def test_each_user_is_let_in_with_its_rights(case: Case) -> None:
    found = {what: tried.found for what, tried in users(case.settings).items()}
    assert found == {
        "user kafka_producer": "let in, may WRITE, DESCRIBE",
        "user kafka_stream": "let in, may READ, DESCRIBE, DESCRIBE_CONFIGS",
        "user kafka_control": "let in, may READ, DESCRIBE, DESCRIBE_CONFIGS",
        "user kafka_reader": "let in, may READ, DESCRIBE, DESCRIBE_CONFIGS",
    }


def test_a_right_that_is_missing_is_named_with_the_command_that_gives_it(case: Case) -> None:
    settings = with_users(case, kafka_producer=KafkaUser.STREAM)
    finding = users(settings)["user kafka_producer"].finding
    assert finding is not None
    assert finding.wrong == f"kafka_stream may not WRITE topic {case.settings.topic.name}"
    assert finding.remedy.startswith("kafka-acls --add --allow-principal User:kafka_stream --operation Write --topic")


def test_a_user_that_may_change_what_it_only_reads_is_named(case: Case) -> None:
    finding = users(with_users(case, kafka_stream=KafkaUser.ADMIN))["user kafka_stream"].finding
    assert finding is not None
    assert "may ALTER, ALTER_CONFIGS, DELETE, WRITE topic" in finding.wrong


@pytest.mark.parametrize(
    ("mechanism", "said"), [("SCRAM-SHA-512", "invalid credentials"), ("PLAIN", "Invalid username or password")]
)
def test_a_wrong_password_is_named_as_the_broker_says_it(
    case: Case, monkeypatch: pytest.MonkeyPatch, mechanism: str, said: str
) -> None:
    monkeypatch.setattr(topic_shape, "ANSWER_SECONDS", 3.0)
    settings = with_users(case)
    file = settings.kafka_access(KafkaUser.READER).file
    file.write_text(
        kafka_users.password_file(KafkaUser.READER, "SASL_PLAINTEXT", "x").replace(kafka_users.SCRAM, mechanism)
    )
    finding = users(settings)["user kafka_reader"].finding
    assert finding is not None
    assert said in finding.wrong


def with_users(case: Case, **instead: KafkaUser) -> Settings:
    """The case's settings, but a folder of secrets in which some users have another's file."""
    folder = Path(tempfile.mkdtemp(dir=case.layout.home))
    return with_files(
        case.settings, folder, lambda user: case.settings.kafka_access(instead.get(user, user)).file.read_text()
    )
