"""How long the source waits for a broker, and when it asks another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs import sources
from kappa.core.installation.addresses import Kafka
from kappa.core.installation.kafka_access import KafkaAccess, KafkaUser
from kappa.core.job_catalog import EXECUTORS

LEAST, MOST = 0.8, 1.2
"""Kafka's client makes each wait so much shorter or longer, by chance."""


class Reader:
    """What the source tells its reader."""

    def __init__(self) -> None:
        self.told: dict[str, str] = {}

    def option(self, name: str, value: str) -> Reader:
        self.told[name] = value
        return self


@pytest.fixture
def told(tmp_path: Path) -> dict[str, str]:
    """What the reader of a job with executors is told."""
    access = KafkaAccess(Kafka("127.0.0.1:1", "PLAINTEXT"), KafkaUser.STREAM, tmp_path / "none")
    reader: Any = Reader()
    sources._options(reader, access, "ad_events", {0: 0}, sources.ON_EXECUTORS)
    return dict(reader.told)


def test_who_leads_now_is_asked_before_the_broker_that_is_gone_is_tried_again(told: dict[str, str]) -> None:
    """While a connection to that one is tried, the client asks no other."""
    again_ms = int(told["kafka.reconnect.backoff.ms"])
    assert LEAST * again_ms > MOST * int(told["kafka.retry.backoff.max.ms"])


def test_who_leads_is_asked_anew_before_another_one_can_lead(told: dict[str, str]) -> None:
    """A broker that is gone is missed after 9 s: what was known of it until then is too old."""
    assert int(told["kafka.metadata.max.age.ms"]) < 9_000


def test_a_question_is_given_up_sooner_where_that_does_not_end_the_query() -> None:
    assert sources.patience_of({EXECUTORS: 2}).ends_ms < sources.patience_of({EXECUTORS: 0}).ends_ms
