"""A client that is kept out says whether the broker was there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from kappa.core.installation.addresses import Kafka
from kappa.core.installation.kafka_access import KafkaAccess, KafkaUser
from kappa.core.installation.kafka_client import NotLetInError, connected
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


def test_where_nobody_listens_no_password_is_blamed(tmp_path: Path) -> None:
    nobody = KafkaAccess(Kafka("127.0.0.1:1", "PLAINTEXT"), KafkaUser.CONTROL, tmp_path / "none")
    with pytest.raises(KafkaError) as caught:
        connected(nobody, KafkaAdminClient, **QUICK)
    assert not isinstance(caught.value, NotLetInError)
