"""Two of three brokers are lost: what the third one takes meanwhile is behind the end that it tells."""

from __future__ import annotations

import json

import pytest

from stack.waiting import until
from tests.rigs.lab import services
from tests.rigs.lab.parts import BROKERS

PARTITIONS = [0, 1, 2, 3]
LAST_SECONDS = 60.0
"""Longer than `replica.lag.time.max.ms`, after which a replica that does not follow is out of sync, where somebody says
so."""
PATIENCE_SECONDS = 120.0


@pytest.mark.long(minutes=3)
@pytest.mark.fault("F13", "two of three are lost: what the third one takes is never counted as nothing unread")
def test_what_a_leader_takes_without_followers_leaves_its_end_unsettled() -> None:
    """The lost ones are most of the controllers, too, so that nobody counts them out: replicas in sync tell nothing."""
    with services.brokers_alone() as made:
        assert until(lambda: made.answer("led_by_one") == len(PARTITIONS), PATIENCE_SECONDS, 2.0)
        assert until(lambda: made.answer("append") == 0, PATIENCE_SECONDS, 2.0), made.answer("append")
        assert until(lambda: made.answer("ends", "0") == [[len(PARTITIONS), [], 3]], PATIENCE_SECONDS, 2.0)
        for host in BROKERS[1:]:
            made.lab.kill(host)
        assert made.answer("append") == 0, "the leader takes them"
        answers = made.ask("ends", str(LAST_SECONDS), seconds=3 * PATIENCE_SECONDS)
        assert json.loads(answers) == [[len(PARTITIONS), PARTITIONS, 3]], "nothing was ever taken for read"
        for host in BROKERS[1:]:
            made.lab.boot(host)
            made.start(host)
        whole = [[2 * len(PARTITIONS), [], 3]]
        assert until(lambda: made.answer("ends", "0") == whole, PATIENCE_SECONDS, 2.0), made.answer("ends", "0")
