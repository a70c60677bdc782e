"""A driver's processes are killed, and killed again and again while it recovers, at random moments; left alone, it ends
exact. Once more is in test_killed_driver.py."""

from __future__ import annotations

import random
import subprocess
import time

import pytest

from stack.waiting import until
from tests.faults.submitted import kill
from tests.rigs.case import Case
from tests.rigs.events import mixture
from tests.rigs.program import PATIENCE_SECONDS
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
LONGEST_SECONDS = 5.0
"""From the take-over to the next kill, at most."""


def await_so(case: Case, process: subprocess.Popen[bytes], statement: str, least: int) -> None:
    """Wait until the one number that a statement asks for has come so far."""

    def there() -> bool:
        assert process.poll() is None, (case.red(), case.version().log.read_text()[-2_000:])
        return int(case.query(statement)[0]["n"]) >= least

    assert until(there, PATIENCE_SECONDS), (statement, case.version().log.read_text()[-2_000:])


def kill_again_and_again(case: Case, seed: int, kills: int) -> None:
    """Kill the driver at its work, then a moment after each restart took the version over, then leave it alone."""
    drawn = random.Random(seed)
    case.produce(mixture(seed, 800))
    staged = case.launch()
    process = staged.start()
    await_so(case, process, "select count(*) as n from ops.batches", 2)
    assert kill(process) >= 2
    for _ in range(kills):
        epoch = int(case.query("select epoch as n from registry.fence")[0]["n"])
        process = staged.start()
        await_so(case, process, "select epoch as n from registry.fence", epoch + 1)
        time.sleep(drawn.uniform(0, LONGEST_SECONDS))
        kill(process)
    process = staged.start()
    await_so(case, process, "select sum(next_offset) as n from ops.progress", sum(case.ends().values()))
    case.query("update registry.job_version set desired = 'stopped'")
    assert process.wait(PATIENCE_SECONDS) == 0
    case.check()
    assert (case.state(), case.red()) == ("LIVE", {})


@pytest.mark.long(minutes=3)
@pytest.mark.fault("F2", "killed five times more while it recovers: the sixth start reads on, exact")
def test_a_driver_killed_five_times_while_it_recovers_ends_exact(cases: Rig, seed: int) -> None:
    kill_again_and_again(cases.case(records_per_batch=100, cadence_ms=0), seed, 5)
