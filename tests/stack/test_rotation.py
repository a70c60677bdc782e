"""A new password counts, the old one no longer does, and a server that does not take it keeps what was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from kafka.errors import SaslAuthenticationFailedError

from bench.report import say
from kappa.core.installation.addresses import Postgres
from kappa.core.installation.kafka_access import KafkaAccess, KafkaUser
from kappa.core.installation.kafka_client import NotLetInError
from kappa.core.installation.needs import NOTES_CONNECTION
from kappa.core.installation.settings import Settings
from kappa.core.log.kafka_log import KafkaLog
from kappa.platform import cluster_of
from kappa.standalone_cluster import SPARK_VERSION, KeyRefused, Master, StandaloneCluster
from stack import rotation
from stack.down import down as stop
from stack.layout import Layout
from stack.rotation import Effect, NeedsStackDown, NeedsStackUp, NotEmbedded, NotTold, UnknownSecret
from stack.services import airflow_connections, kafka, passwords, postgres
from stack.services.passwords import SUPERUSER
from stack.supervision import Supervisor
from tests.rigs.plain_passwords import by_scram
from tests.rigs.small_stack import small_cluster, start_cluster


@pytest.fixture
def down(tmp_path: Path) -> Layout:
    """A stack that has its secrets and does not run."""
    settings = Settings(home=tmp_path / "state")
    passwords.make(settings)
    return Layout(settings, tmp_path)


@contextmanager
def rotated(layout: Layout, name: str) -> Iterator[Path]:
    """A copy of the file as it was, a new one in its place."""
    secret = next(secret for secret in rotation.known(layout) if secret.name == name)
    old = layout.settings.home / f"former-{secret.file.name}"
    passwords.write_private(old, secret.file.read_text())
    try:
        rotation.rotate(layout, name)
        assert secret.file.read_text() != old.read_text()
        assert not list(layout.settings.secrets.glob("*.old"))
        yield old
    finally:
        old.unlink()


def test_every_file_of_a_secret_can_be_replaced(down: Layout) -> None:
    """But for what Spark's master and workers read, which is made of two others."""
    made = {passwords.spark_master(down.settings), passwords.spark_worker(down.settings)}
    held = set(down.settings.secrets.iterdir()) - made
    assert {secret.file for secret in rotation.known(down)} == held


@pytest.mark.rig
@pytest.mark.parametrize("role", ["kappa_reader", SUPERUSER])
def test_a_role_is_let_in_by_its_new_password_and_by_no_other(parts: Layout, role: str) -> None:
    settings = parts.settings
    with psycopg.connect(settings.dsn(role)) as before, rotated(parts, role) as old:
        assert before.execute("select 1").fetchone() == (1,)
        psycopg.connect(settings.dsn(role)).close()
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(settings.dsn(role).replace(str(settings.passfile(role)), str(old)))


@pytest.mark.rig
def test_a_user_of_kafka_is_let_in_by_his_new_password_and_by_no_other(parts: Layout, tmp_path: Path) -> None:
    settings = by_scram(parts.settings, tmp_path)
    with rotated(replace(parts, settings=settings), KafkaUser.CONTROL) as old:
        with KafkaLog(settings.kafka_access(KafkaUser.CONTROL), settings.topic.name) as log:
            log.describe()
        former = KafkaAccess(settings.kafka_server, KafkaUser.CONTROL, old)
        with pytest.raises((NotLetInError, SaslAuthenticationFailedError)):
            KafkaLog(former, settings.topic.name).__enter__().describe()


@pytest.mark.rig
def test_what_is_read_at_a_start_is_not_replaced_under_what_runs(parts: Layout) -> None:
    for secret in rotation.known(parts):
        if secret.effect is Effect.AT_START:
            before = secret.file.read_text() if secret.file.exists() else None
            with pytest.raises(NeedsStackDown, match=f"kappa down, then ./kappa secrets rotate {secret.name}, then"):
                rotation.rotate(parts, secret.name)
            assert before == (secret.file.read_text() if secret.file.exists() else None)


def test_of_a_stack_that_is_down_the_files_are_replaced_and_the_next_start_tells_the_servers(down: Layout) -> None:
    names = [secret.name for secret in rotation.known(down) if secret.effect is not Effect.WHILE_UP]
    kept = passwords.airflow_keys(down.settings)["fernet_key"]
    for name in names:
        with rotated(down, name) as old:
            assert old.stat().st_mode & 0o777 == 0o600
    assert passwords.airflow_keys(down.settings)["fernet_key"] == kept, "Airflow could read none of its connections"
    with pytest.raises(NeedsStackUp, match="kappa up first"):
        rotation.rotate(down, SUPERUSER)


@pytest.mark.rig
@pytest.mark.long(minutes=1)
def test_from_the_next_start_on_spark_knows_its_new_secrets_and_no_others(tmp_path: Path) -> None:
    """A worker that had another secret than its master would be none of its cluster."""
    with small_cluster() as layout:
        settings, former = layout.settings, tmp_path / "former.key"
        before = passwords.spark_secret(settings)
        former.write_text(settings.spark_key.read_text())
        stop(settings, layout.checkout, say)
        for name in ("spark-auth", "spark-rest"):
            rotation.rotate(layout, name)
        start_cluster(layout)
        assert before != passwords.spark_secret(settings)
        assert all(before not in file.read_text() for file in settings.secrets.glob("spark-*"))
        cluster = cluster_of(settings)
        assert cluster.version() == SPARK_VERSION
        assert len(cluster.capacity().hosts) == 1
        with pytest.raises(KeyRefused, match=str(former)):
            StandaloneCluster([Master(settings.spark_rest[0], settings.spark_ui[0])], former).capacity()


def test_a_server_that_does_not_take_it_keeps_what_was(down: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(settings: Settings) -> None:
        raise ConnectionError("not now")

    monkeypatch.setattr(Supervisor, "running", lambda _: True)
    monkeypatch.setattr(kafka, "ensure_users", refuses)
    monkeypatch.setattr(postgres, "tell_password", lambda settings, _: refuses(settings))
    for name, file in (
        (KafkaUser.STREAM, down.settings.kafka_access(KafkaUser.STREAM).file),
        ("kappa_writer", down.settings.passfile("kappa_writer")),
    ):
        before = file.read_text()
        with pytest.raises(NotTold, match=rf"{name} was not replaced: .*not now.*kappa up"):
            rotation.rotate(down, name)
        assert file.read_text() == before
        assert not list(down.settings.secrets.glob("*.old"))


@pytest.mark.parametrize("problem", [ConnectionError, KeyboardInterrupt])
def test_a_server_that_took_it_before_the_rotation_ended_is_told_the_old_one_again(
    down: Layout, monkeypatch: pytest.MonkeyPatch, problem: type[BaseException]
) -> None:
    """Its answer was lost, or somebody interrupted: what the broker holds and what the file has must not differ."""
    file, told = down.settings.kafka_access(KafkaUser.STREAM).file, list[str]()

    def takes(_: Settings) -> None:
        told.append(file.read_text())
        if len(told) == 1:
            raise problem

    monkeypatch.setattr(Supervisor, "running", lambda _: True)
    monkeypatch.setattr(kafka, "ensure_users", takes)
    with pytest.raises(problem):
        rotation.rotate(down, KafkaUser.STREAM)
    assert told[-1] == file.read_text() != told[0]


def test_the_connection_by_which_notes_are_left_has_the_new_password(down: Layout) -> None:
    airflow_connections.file(down).parent.mkdir()
    airflow_connections.write(down)
    rotation.rotate(down, "airflow:operator")
    _, password = passwords.airflow_login(down.settings)
    held = json.loads(airflow_connections.file(down).read_text())
    assert held[NOTES_CONNECTION]["password"] == password


def test_what_is_not_ours_and_what_nobody_knows_is_refused(down: Layout) -> None:
    with pytest.raises(UnknownSecret, match=r"'kafka_raeder'; known are kafka_producer, .*spark-rest. Nothing"):
        rotation.rotate(down, "kafka_raeder")
    foreign = Settings(home=down.settings.home, postgres=Postgres("pg.example.com"))
    with pytest.raises(NotEmbedded, match="where those are kept"):
        rotation.rotate(Layout(foreign, down.checkout), SUPERUSER)
