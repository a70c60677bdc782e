"""A client finds the brokers that are there, and says whether one was where it is kept out."""

from __future__ import annotations

import logging
import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from kappa.core.installation.addresses import Kafka
from kappa.core.installation.kafka_access import KafkaAccess, KafkaUser
from kappa.core.installation.kafka_client import NotLetInError, connected, listening
from stack.layout import Layout

QUICK = {"bootstrap_timeout_ms": 1_500}


@pytest.mark.rig
def test_who_has_the_wrong_password_is_told_which_file_it_was(parts: Layout, tmp_path: Path) -> None:
    right = parts.settings.kafka_access(KafkaUser.CONTROL)
    wrong = tmp_path / "wrong.properties"
    wrong.write_text(right.file.read_text().replace("password=", "password=x"))
    wrong.chmod(0o600)
    with pytest.raises(NotLetInError, match=f"does not let kafka_control in.*{wrong}"):
        connected(replace(right, file=wrong), KafkaAdminClient, **QUICK)


@pytest.mark.rig
def test_a_broker_whose_host_is_lost_keeps_nobody_from_the_others(
    parts: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = parts.settings.kafka_access(KafkaUser.CONTROL)
    with lost_host() as lost:
        monkeypatch.setattr(random, "choice", lambda them: min(them, key=lambda it: f"{it.host}:{it.port}" != lost))
        both = replace(right, server=replace(right.server, bootstrap=f"{lost},{right.address}"))
        assert listening(both.address) == [right.address]
        connected(both, KafkaAdminClient, bootstrap_timeout_ms=5_000).close()


@contextmanager
def lost_host() -> Iterator[str]:
    """An address at which each connection waits, as at that of a host that is not there: the queue of who listens is
    full, so the kernel drops what comes."""
    with ExitStack() as held:
        full = held.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(2):
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        yield "{}:{}".format(*full.getsockname())


@pytest.mark.rig
def test_connections_that_come_and_go_are_not_in_the_log(parts: Layout, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    connected(parts.settings.kafka_access(KafkaUser.CONTROL), KafkaAdminClient).close()
    assert caplog.messages == []


@pytest.mark.rig
def test_a_connection_that_nobody_answers_is_given_up_before_long(parts: Layout) -> None:
    """What it does not know of its settings kafka-python leaves aside without a word, so it is asked for them."""
    made = connected(parts.settings.kafka_access(KafkaUser.CONTROL), KafkaAdminClient)
    manager = made._client._manager
    assert manager.socket_connection_setup_timeout_ms("a broker") == 1_500
    made.close()


def test_where_nobody_listens_no_password_is_blamed(tmp_path: Path) -> None:
    nobody = KafkaAccess(Kafka("127.0.0.1:1", "PLAINTEXT"), KafkaUser.CONTROL, tmp_path / "none")
    with pytest.raises(KafkaError) as caught:
        connected(nobody, KafkaAdminClient, **QUICK)
    assert not isinstance(caught.value, NotLetInError)
