"""The id under which a broker's storage is formatted; and what is left of asking a broker that is away."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock
from uuid import UUID

import pytest
from kafka.errors import KafkaError

from kappa.core.installation.addresses import Postgres
from kappa.core.installation.embedded import Ports
from kappa.core.installation.kafka_access import KafkaAccess, KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from stack.services import kafka, kafka_users, passwords
from stack.services.kafka import cluster_id, healthy
from stack.waiting import until


def test_a_cluster_id_never_looks_like_an_option() -> None:
    dashed, plain = UUID(bytes=b"\xf8" + bytes(15)), UUID(bytes=b"\x01" + bytes(15))
    drawn = iter([dashed, dashed, plain])
    found = cluster_id(lambda: next(drawn))
    assert len(found) == 22
    assert not found.startswith("-")


def test_asking_for_a_broker_that_is_away_leaves_no_client_behind(tmp_path: Path) -> None:
    settings = Settings(tmp_path, ports=Ports(kafka=1))
    passwords.make(settings)
    before = threading.active_count()
    assert not healthy(settings)
    assert until(lambda: threading.active_count() <= before, 30)


@pytest.mark.parametrize(("host", "user"), [("", KafkaUser.ADMIN), ("pg", KafkaUser.CONTROL)])
def test_the_broker_of_an_installation_elsewhere_is_asked_by_who_looks_at_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, user: KafkaUser
) -> None:
    asked: list[KafkaUser] = []

    def refuse(access: KafkaAccess, *_: object, **__: object) -> None:
        asked.append(access.user)
        raise KafkaError("no")

    monkeypatch.setattr(kafka, "connected", refuse)
    assert not kafka.healthy(Settings(tmp_path, postgres=Postgres(host)))
    assert asked == [user]


@pytest.mark.parametrize(("host", "wipes"), [("", True), ("pg", False)])
def test_only_an_embedded_stack_is_told_to_delete_what_a_topic_of_another_shape_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, wipes: bool
) -> None:
    """`down` refuses the others."""
    settings = Settings(tmp_path, postgres=Postgres(host))
    admin = Mock(list_topics=Mock(return_value=[settings.topic.name]))
    admin.describe_topics.return_value = [{"partitions": [0]}]
    monkeypatch.setattr(kafka, "connected", lambda *_, **__: nullcontext(admin))
    monkeypatch.setattr(kafka_users, "ensure", lambda *_: None)
    with pytest.raises(Refusal, match="has a number of partitions of 1, but must have 6") as told:
        kafka.ensure_topic(settings)
    assert ("down --wipe" in str(told.value)) is wipes
