"""The topic is the one that a version was staged for, or nothing is read; a broker that is away is waited for."""

from __future__ import annotations

import pytest

from jobs import staged_topic
from jobs.log import Topic, WrongTimestampType
from jobs.registry import Version
from jobs.staged_topic import TopicReplaced

VERSION = Version("ad_ctr", 1, "LIVE", "running", {}, "ad_events", "one", None, {0: 5, 1: 0}, 1)
TOPIC = Topic("ad_events", "one", (0, 1, 2), "LogAppendTime")
NOBODY = "127.0.0.1:1"


def test_the_topic_it_was_staged_for_may_have_grown() -> None:
    staged_topic.check(VERSION, TOPIC)


@pytest.mark.parametrize(("topic", "said"), [(Topic("ad_events", "two", (0, 1), "LogAppendTime"), "its id is two"),
                                             (Topic("ad_events", "one", (0,), "LogAppendTime"), "partitions"),
                                             ])  # fmt: skip
def test_another_topic_is_refused(topic: Topic, said: str) -> None:
    with pytest.raises(TopicReplaced, match=said):
        staged_topic.check(VERSION, topic)


def test_a_topic_that_producers_stamp_is_refused() -> None:
    with pytest.raises(WrongTimestampType):
        staged_topic.check(VERSION, Topic("ad_events", "one", (0, 1), "CreateTime"))


def test_a_broker_that_is_away_is_asked_again_until_the_start_is_not_wanted_any_more() -> None:
    slept: list[float] = []
    staged_topic.check_once_there(NOBODY, VERSION, lambda: len(slept) < 2, slept.append)
    assert slept == [1.0, 1.0]
