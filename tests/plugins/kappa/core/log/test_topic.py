"""What the admin client tells of a topic, as the code knows it."""

from __future__ import annotations

from typing import Any

import pytest

from kappa.core.log.topic import Topic, described

HELD = {
    name: {"value": value}
    for name, value in {"message.timestamp.type": "LogAppendTime", "retention.ms": "3600000",
                        "cleanup.policy": "delete", "min.insync.replicas": "2"}.items()
}  # fmt: skip


def told(*replicas: list[int]) -> dict[str, Any]:
    """A topic whose partitions lie on these brokers."""
    partitions = [{"partition_index": index, "replica_nodes": nodes} for index, nodes in enumerate(replicas)]
    return {"topic_id": "00000000-0000-0000-0000-000000000000", "partitions": partitions[::-1]}


def test_a_topic_is_what_the_broker_says() -> None:
    assert described("ads", told([1, 2, 3], [2, 3, 1]), HELD) == Topic(
        "ads", "A" * 22, (0, 1), "LogAppendTime", 3_600_000, "delete", copies=3, least_in_sync=2, brokers=3
    )


@pytest.mark.parametrize(
    ("replicas", "copies", "brokers"), [(([1],), 1, 1), (([1], [2]), 1, 2), (([1, 2, 3], [4, 5]), 2, 5)]
)
def test_the_partition_with_the_fewest_copies_counts(replicas: Any, copies: int, brokers: int) -> None:
    found = described("ads", told(*replicas), HELD)
    assert (found.copies, found.brokers) == (copies, brokers)
