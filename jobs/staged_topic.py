"""Whether the topic is still the one that a version was staged for; a broker that is away is waited for."""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafka.errors import KafkaError

from jobs.log import KafkaLog, Topic, check_stamping
from jobs.refusals import Refusal
from jobs.registry import Version

logger = logging.getLogger("kappa.topic")


class TopicReplaced(Refusal):
    """The topic was deleted and made again, or has other partitions than the version was staged for."""

    def __init__(self, version: Version, found: str) -> None:
        super().__init__(
            f"topic {version.topic} is not the one that {version.job} v{version.version} was staged for: {found}. "
            "Nothing was read. Replay it into a new version with './kappa reprocess'."
        )


def check(version: Version, topic: Topic) -> None:
    """Refuse a topic whose offsets mean other records, or whose records producers stamp.

    Raises WrongTimestampType, TopicReplaced.
    """
    check_stamping(topic)
    if topic.topic_id != version.topic_id:
        raise TopicReplaced(version, f"its id is {topic.topic_id}, not {version.topic_id}")
    if not set(version.start_offsets) <= set(topic.partitions):
        raise TopicReplaced(version, f"it has the partitions {topic.partitions}")


def check_once_there(
    bootstrap: str, version: Version, goes_on: Callable[[], bool], sleep: Callable[[float], None]
) -> None:
    """Check the topic as soon as the broker answers, or leave it once `goes_on` says no: a start that waits is none
    that failed. Raises as `check`, and MissingTopic."""
    while goes_on():
        try:
            with KafkaLog(bootstrap, version.topic) as log:
                check(version, log.describe())
            break
        except (KafkaError, OSError) as error:
            logger.warning("the broker does not answer, so the start waits: %r", error)
            sleep(1.0)
