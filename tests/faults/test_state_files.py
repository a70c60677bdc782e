"""A file of Spark's state is cut, or an older one has its name: the numbers that are served stay right."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from tests.faults.recoveries import replay, served
from tests.rigs.case import Case
from tests.rigs.checkpoint_folders import folder_of
from tests.rigs.events import events
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig


def newest_state(case: Case) -> list[Path]:
    """The file of each state partition that holds what its newest batch changed."""
    checkpoint = case.checkpoint()
    batch = checkpoint.newest_committed()
    assert batch is not None
    found = sorted(folder_of(checkpoint).glob(f"state/0/*/{batch + 1}.*"))
    assert found
    return found


def crc_of(file: Path) -> Path:
    return file.with_name(f".{file.name}.crc")


def refused_or_failing(case: Case) -> str:
    """Start the driver, which either gives up, or shows that its query fails again and again; what it shows."""
    with case.driver() as program:
        program.until("a red line", lambda: bool(case.red()))
    return " ".join(case.red().values())


def check_served_and_replay(case: Case, before: tuple[object, ...]) -> None:
    """Nothing was served from the damaged state, what is served is right as far as it goes, and a replay is exact."""
    assert served(case) == before
    assert case.differences() == []
    replay(case)
    case.check()


@pytest.mark.fault("F8", "red line `query` with the file that cannot be read; what is served stays; a replay is exact")
@pytest.mark.parametrize(
    "kept",
    [pytest.param(0.0, id="to nothing", marks=pytest.mark.long(minutes=1)), pytest.param(0.5, id="by half")],
)
def test_a_state_file_that_was_cut_is_never_gone_on_with(rig: Rig, kept: float) -> None:
    case = rig.case(state_partitions=1)
    case.produce(events(40))
    case.run_until_read()
    for file in newest_state(case):
        file.write_bytes(file.read_bytes()[: int(file.stat().st_size * kept)])
        crc_of(file).unlink(missing_ok=True)
    before = served(case)
    case.produce(events(40, 100))
    assert "state" in refused_or_failing(case).lower()
    check_served_and_replay(case, before)


@pytest.mark.fault("F8", "FAILED: double entry; the state is older than it says, and the batch was rolled back")
def test_an_older_state_under_the_newest_name_breaks_the_double_entry(rig: Rig) -> None:
    """All events lie in one window, whose sums the newest batch would take from the older state."""
    case, minute = rig.case(state_partitions=1), {"event_time": round(time.time() * 1000) - 60_000}
    case.produce(events(40, **minute))
    case.run_until_read()
    older = [(file, crc_of(file)) for file in newest_state(case)]
    case.produce(events(40, 100, **minute))
    case.run_until_read()
    for (old, old_crc), new in zip(older, newest_state(case), strict=True):
        shutil.copyfile(old, new)
        shutil.copyfile(old_crc, crc_of(new))
    before = served(case)
    case.produce(events(40, 200, **minute))
    said = refused_or_failing(case)
    assert "double entry: the change of seen impressions should be" in said
    assert "'./kappa reprocess'" in said
    assert case.state() == "FAILED"
    check_served_and_replay(case, before)
