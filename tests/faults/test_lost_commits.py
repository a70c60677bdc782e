"""The answer to COMMIT is lost, or COMMIT itself: the batch is tried again, and is in once."""

from __future__ import annotations

import logging
from itertools import count

import pytest

from tests.rigs.events import events
from tests.rigs.postgres_proxy import AtCommit, PostgresProxy
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
STRIKES = [
    *(AtCommit.ANSWER_LOST, AtCommit.PASSES),
    *(AtCommit.LOST, AtCommit.PASSES),
    *(AtCommit.ANSWER_LOST, AtCommit.LOST, AtCommit.ANSWER_LOST, AtCommit.PASSES),
] * 2
"""Of three batches, twice: the second one was not in when it was tried again, the others were."""
AGAIN = 4


@pytest.mark.fault("F10", "'the transaction is tried again', then the batch with '(again)', in the driver's log")
def test_a_lost_commit_or_a_lost_answer_to_it_counts_a_batch_once(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    case, numbers = rig.case(), count(step=5)
    caplog.set_level(logging.INFO, "kappa.sink")

    def went_on() -> bool:
        """Some more records, each lot for a batch that is to be struck."""
        case.produce(events(5, next(numbers)))
        return len(proxy.struck) == 10

    with PostgresProxy(case.settings) as proxy, case.driver(settings=proxy.settings) as program:
        proxy.fates = iter(STRIKES)
        program.until("10 commits are struck", went_on)
        program.await_read()
    said = [record.getMessage() for record in caplog.records if record.name.startswith("kappa.")]
    assert sum("(again)" in line for line in said) == AGAIN
    assert sum("the transaction is tried again" in line for line in said) == len(proxy.struck)
    assert len(case.query("select 1 from registry.driver_start")) == 1
    case.check()
