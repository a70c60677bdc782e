"""The doors of the embedded broker: who is not known does not get in, and who is may do what he is for."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from kappa.core.installation.kafka_access import PASSWORD, KafkaUser
from kappa.core.installation.kafka_client import connected
from kappa.core.log.kafka_log import KafkaLog
from kappa.core.log.topic import TopicHidden
from oracle.topic import KafkaTopic, LogUnreadable
from stack.layout import Layout
from stack.services import kafka, kafka_users, passwords
from tests.rigs.case import Case
from tests.rigs.plain_passwords import by_scram
from tests.rigs.rig import Rig
from traffic.log import KafkaLog as Sending
from traffic.log import LogRefused, LogUnreachable

pytestmark = pytest.mark.rig
SILENT = {"log_level": 0}
SECONDS = 3.0


@pytest.fixture(scope="module")
def case(cases: Rig, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A case whose users sign in as those of a whole stack do."""
    made = cases.case("ad_ctr")
    made.layout = replace(made.layout, settings=by_scram(made.settings, tmp_path_factory.mktemp("secrets")))
    with sending(made, KafkaUser.PRODUCER) as log:
        log.send(b"k", b"v")
    return made


@contextmanager
def sending(case: Case, user: KafkaUser) -> Iterator[Sending]:
    log = Sending(case.settings.kafka_access(user).librdkafka(), case.settings.topic.name, SILENT)
    yield log
    delivery = log.close()
    assert delivery.delivered == 1, delivery


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("traffic.log", "oracle.topic"):
        monkeypatch.setattr(f"{module}._TIMEOUT_S", SECONDS)


def test_each_user_can_do_what_he_is_for(case: Case) -> None:
    settings, topic = case.settings, case.settings.topic.name
    for user in (KafkaUser.STREAM, KafkaUser.CONTROL):
        with KafkaLog(settings.kafka_access(user), topic) as log:
            assert log.describe().timestamp_type == "LogAppendTime"
            held = [found for partition in log.ends() if (found := log.appended(partition, 0))]
            assert [found.bytes for found in held] == [2]
    reader = KafkaTopic(settings.kafka_access(KafkaUser.READER).librdkafka(), topic)
    ends = {partition: end for partition, (_, end) in reader.bounds().items()}
    assert [record.value for record in reader.records(ends)] == [b"v"]


def test_anybodys_consumer_reads_by_the_file_of_the_reader_in_a_group_of_its_own(case: Case) -> None:
    access = case.settings.kafka_access(KafkaUser.READER)
    told = dict(line.split("=", 1) for line in access.file.read_text().splitlines())
    where = {"bootstrap.servers": access.address, "group.id": secrets.token_hex(4), "auto.offset.reset": "earliest"}
    consumer = Consumer({**told, **where})
    consumer.subscribe([case.settings.topic.name])
    try:
        message = consumer.poll(60)
        assert message is not None
        assert (message.error(), message.value()) == (None, b"v")
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()


@pytest.mark.usefixtures("impatient")
def test_who_is_not_known_does_not_get_in(case: Case, tmp_path: Path) -> None:
    known = case.settings.kafka_access(KafkaUser.PRODUCER).librdkafka()
    wrong = {**known, PASSWORD: "guessed"}
    with pytest.raises(LogRefused, match="invalid credentials"):
        Sending(wrong, case.settings.topic.name, SILENT)
    with pytest.raises(LogUnreadable, match="invalid credentials"):
        KafkaTopic(wrong, case.settings.topic.name, SILENT).bounds()
    stranger = {"bootstrap.servers": known["bootstrap.servers"]}
    with pytest.raises(LogUnreachable):
        Sending(stranger, case.settings.topic.name, SILENT)
    with pytest.raises(LogUnreadable):
        KafkaTopic(stranger, case.settings.topic.name, SILENT).bounds()


def test_nobody_but_the_controller_is_let_in_at_its_door(case: Case) -> None:
    door = f"127.0.0.1:{case.settings.ports.kafka_controller}"
    for user in (KafkaUser.STREAM, KafkaUser.PRODUCER):
        access = case.settings.kafka_access(user)
        elsewhere = replace(access, server=replace(access.server, bootstrap=door))
        with pytest.raises(KafkaError):
            connected(elsewhere, KafkaAdminClient, bootstrap_timeout_ms=1_500)


class Catching(Sending):
    """Handles an exception of its own while it is told of a record: one that was under way is gone then."""

    def _report(self, *told: Any) -> None:
        with suppress(ValueError):
            int("no number")
        super()._report(*told)


def test_who_reads_may_not_write_and_no_record_passes_for_delivered(case: Case) -> None:
    for user in (KafkaUser.READER, KafkaUser.STREAM, KafkaUser.CONTROL):
        for more in ({}, {"enable.idempotence": False}):
            log = Catching(case.settings.kafka_access(user).librdkafka(), case.settings.topic.name, {**SILENT, **more})
            for _ in range(3):
                log.send(b"k", b"forged")
            delivery = log.close()
            assert (delivery.delivered, delivery.failed) == (0, 3)
            assert "uthorization failed" in str(delivery.first_error)
    assert sum(case.ends().values()) == 1


def test_who_writes_may_not_read(case: Case) -> None:
    access = case.settings.kafka_access(KafkaUser.PRODUCER)
    with pytest.raises(LogUnreadable, match="uthorization failed"):
        list(KafkaTopic(access.librdkafka(), case.settings.topic.name, SILENT).records({0: 1, 1: 1}))
    with (
        KafkaLog(access, case.settings.topic.name) as log,
        pytest.raises(TopicHidden, match="kafka_producer may not see"),
    ):
        log.describe()


@pytest.mark.parametrize("user", [user for user in KafkaUser if user is not KafkaUser.ADMIN])
def test_nobody_makes_empties_or_deletes_a_topic(case: Case, user: KafkaUser) -> None:
    client, topic = AdminClient(case.settings.kafka_access(user).librdkafka()), case.settings.topic.name
    asked = (
        client.create_topics([NewTopic(f"of-{user}", 1, 1)]),
        client.delete_topics([topic]),
        client.delete_records([TopicPartition(topic, 0, 1)]),
    )
    for futures in asked:
        for future in futures.values():
            with pytest.raises(KafkaException, match="uthorization failed"):
                future.result()
    assert sum(case.ends().values()) == 1


def test_a_new_file_is_a_new_password_from_the_next_up_on(parts: Layout, case: Case) -> None:
    settings = case.settings
    access = settings.kafka_access(KafkaUser.PRODUCER)
    before = access.librdkafka()
    protocol, password = before["security.protocol"], secrets.token_urlsafe(24)
    passwords.write_private(access.file, kafka_users.password_file(KafkaUser.PRODUCER, protocol, password))
    kafka.ensure_topic(settings)
    assert metadata(access.librdkafka())
    with pytest.raises(KafkaException):
        metadata(before)


def metadata(access: dict[str, str]) -> bool:
    return bool(Producer({**access, **SILENT}).list_topics(timeout=SECONDS).topics)


def test_a_password_is_in_its_file_and_nowhere_else(parts: Layout, tmp_path: Path) -> None:
    held = {user: parts.settings.kafka_access(user).librdkafka()[PASSWORD] for user in KafkaUser}
    for user, password in held.items():
        assert password in parts.settings.kafka_access(user).file.read_text()
    wanted = tmp_path / "wanted"
    wanted.write_text("\n".join([*held.values(), "listener.security.protocol.map"]))
    assert parts.kafka / "server.properties" in files_with(wanted, parts)
    wanted.write_text("\n".join(held.values()))
    assert files_with(wanted, parts) == set()
    for process in psutil.process_iter(["cmdline", "environ"]):
        said = repr((process.info["cmdline"], process.info["environ"])).encode()
        assert not any(password.encode() in said for password in held.values()), process


def files_with(wanted: Path, parts: Layout) -> set[Path]:
    """The files of the installation with one of these lines in them, but for what nobody hands a password of Kafka to.
    A search by grep, which passes over the holes in the broker's many empty indexes."""
    elsewhere = (parts.settings.secrets, parts.postgres)
    leave_out = [*(f"--exclude-dir={folder.name}" for folder in elsewhere), "--exclude=*.jar"]
    command = ["grep", "-raFlf", str(wanted), *leave_out, str(parts.home)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return {Path(line) for line in done.stdout.splitlines()}
