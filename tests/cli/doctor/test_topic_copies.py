"""A topic off this machine has to outlive a broker: what doctor says of its copies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from cli.doctor import topic_shape
from cli.doctor.trial import carry_out
from kappa.core.installation import settings as of_settings
from kappa.core.installation.addresses import Kafka
from kappa.core.installation.findings import Finding
from kappa.core.installation.settings import Settings
from kappa.core.log.topic import Topic
from tests.plugins.fakes import FakeLog

LOCAL, ELSEWHERE = "127.0.0.1:9092", "k1.example.com:9093"
WHOLE = Topic("ad_events", "one", (0, 1), "LogAppendTime", 10**12, copies=3, least_in_sync=2, brokers=3)


def finding(monkeypatch: pytest.MonkeyPatch, bootstrap: str, topic: Topic) -> Finding | None:
    """What is found of this topic where Kafka has this address."""
    settings = Settings(Path(), kafka=Kafka(bootstrap), topic=of_settings.Topic(partitions=2))
    log = FakeLog({0: 0, 1: 0}, {0: [], 1: []}, topic)
    monkeypatch.setattr(topic_shape, "connect", lambda _: SimpleNamespace(open_log=log.opened))
    (trial,) = (each for each in topic_shape.trials(settings) if each.what == "topic ad_events")
    return carry_out(trial).finding


@pytest.mark.parametrize(
    ("bootstrap", "topic"),
    [
        (ELSEWHERE, WHOLE),
        (ELSEWHERE, replace(WHOLE, copies=5, least_in_sync=3, brokers=9)),
        (LOCAL, WHOLE),
        (LOCAL, replace(WHOLE, copies=1, least_in_sync=1, brokers=1)),
    ],
)
def test_of_enough_copies_or_a_single_broker_of_ones_own_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch, bootstrap: str, topic: Topic
) -> None:
    assert finding(monkeypatch, bootstrap, topic) is None


@pytest.mark.parametrize(
    ("bootstrap", "brokers"), [(ELSEWHERE, 1), (ELSEWHERE, 3), (LOCAL, 3), (f"{LOCAL},{ELSEWHERE}", 1)]
)
@pytest.mark.parametrize("copies", [1, 2])
def test_too_few_copies_are_named(monkeypatch: pytest.MonkeyPatch, bootstrap: str, brokers: int, copies: int) -> None:
    found = finding(monkeypatch, bootstrap, replace(WHOLE, copies=copies, brokers=brokers))
    assert found is not None
    assert found.wrong.startswith(f"of its records there are {copies}")
    assert "kafka-reassign-partitions" in found.remedy


def test_a_topic_that_acknowledges_what_one_broker_has_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = finding(monkeypatch, ELSEWHERE, replace(WHOLE, least_in_sync=1))
    assert found is not None
    assert found.wrong.startswith("its min.insync.replicas is 1")
    assert found.remedy == "kafka-configs --alter --topic ad_events --add-config min.insync.replicas=2"
