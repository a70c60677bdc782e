"""Which failure of a query passes, and which ends the version."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest
from pyspark.errors import StreamingQueryException

from jobs.driver.failures import Failures
from kappa.core.installation.addresses import Kafka
from kappa.core.installation.kafka_access import KafkaAccess, KafkaUser
from kappa.core.log.topic import TopicHidden
from kappa.core.refusals import Refusal

ACCESS = KafkaAccess(Kafka("127.0.0.1:1", "PLAINTEXT"), KafkaUser.STREAM, Path("/none"))
ENDED = StreamingQueryException("the query ended")


@pytest.fixture
def failures() -> Failures:
    return Failures(Mock(), Mock(), Mock(), Mock())


def test_a_right_on_the_topic_that_is_taken_away_is_waited_for(failures: Failures) -> None:
    failures.judge(ENDED, TopicHidden(ACCESS, "ad_events"))
    assert "kafka_stream may not see topic 'ad_events'" in failures.why


def test_any_other_refusal_ends_the_version(failures: Failures) -> None:
    with pytest.raises(Refusal, match="no"):
        failures.judge(ENDED, Refusal("no"))
