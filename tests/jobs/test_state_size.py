"""What an event takes in the newest version of a job's state, held against what sizing reckons with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rigs.checkpoint_folders import folder_of
from tests.rigs.events import events
from tests.rigs.rig import Rig
from tests.stack.provisioning import terraform_tree

pytestmark = [pytest.mark.rig, pytest.mark.timeout(600, func_only=True)]
EVENTS, IN_A_BATCH = 40_000, 1_000


@pytest.mark.long(minutes=2)
def test_sizing_reckons_with_at_least_what_an_event_takes_in_the_state(rig: Rig) -> None:
    """Once it was written whole, beside what each batch changed; Spark looks each minute whether it should be."""
    case = rig.case(records_per_batch=IN_A_BATCH, cadence_ms=0)
    case.produce(events(EVENTS))

    def whole() -> list[Path]:
        return list(folder_of(case.checkpoint()).rglob("state/**/*.sst"))

    with case.driver() as driver:
        driver.await_read()
        driver.until("the state is written whole", lambda: bool(whole()))
    measured = sum(file.stat().st_size for file in whole()) / EVENTS
    print(f"{measured:.1f} bytes of an event in the state")
    assert measured <= terraform_tree.reckoned()["state_bytes_per_event"] <= 3 * measured
