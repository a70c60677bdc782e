"""What an event takes in the newest version of a job's state, held against what sizing reckons with."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.rigs.checkpoint_folders import folder_of
from tests.rigs.events import events
from tests.rigs.rig import Rig
from tests.stack.provisioning import terraform_tree

pytestmark = [pytest.mark.rig, pytest.mark.timeout(600, func_only=True)]
EVENTS, IN_A_BATCH = 40_000, 1_000


@pytest.mark.long(minutes=2)
def test_sizing_reckons_with_at_least_what_an_event_takes_in_the_state(rig: Rig) -> None:
    """Once it was written whole, beside what each batch changed; Spark looks each minute whether it should be, on a
    slow machine also when few batches were read."""
    case = rig.case(records_per_batch=IN_A_BATCH, cadence_ms=0)
    case.produce(events(EVENTS))

    def whole() -> list[Path]:
        written = sorted(folder_of(case.checkpoint()).rglob("state/**/*.zip"), key=lambda zip_: int(zip_.stem))
        return list({zip_.parent: zip_ for zip_ in written}.values())

    with case.driver() as driver:
        driver.await_read()
        driver.until("the state is written whole", lambda: sum(map(weight, whole())) > 0)
    newest = whole()
    read = sum(min(EVENTS, IN_A_BATCH * int(zip_.stem)) for zip_ in newest) / len(newest)
    measured = sum(map(weight, newest)) / read
    print(f"{measured:.1f} bytes of an event in the state, after {read:.0f} events")
    assert measured <= terraform_tree.reckoned()["state_bytes_per_event"] <= 3 * measured


def weight(zip_: Path) -> int:
    """The bytes of a partition's state in a version that was written whole."""
    with ZipFile(zip_) as packed:
        _, _, said = packed.read("metadata").decode().partition("\n")
    return sum(file["sizeBytes"] for file in json.loads(said)["sstFiles"])
