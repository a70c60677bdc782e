"""A checkpoint that lost its last commit goes on; one that is lost, or older than the database, is refused."""

from __future__ import annotations

import logging
import shutil

import pytest

from tests.faults.recoveries import refused, replay, served
from tests.rigs.checkpoint_folders import folder_of
from tests.rigs.events import events, mixture
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig


@pytest.mark.fault("F5", "the last batch is written again, which changes nothing, and the driver goes on")
def test_a_batch_whose_commit_spark_has_lost_is_written_again_and_changes_nothing(
    rig: Rig, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    case = rig.case(records_per_batch=200)
    case.produce(mixture(seed, 300))
    case.run_until_read()
    caplog.set_level(logging.INFO, "kappa.sink")
    before, newest = served(case), case.checkpoint().newest_committed()
    (folder_of(case.checkpoint()) / "commits" / str(newest)).unlink()
    with case.driver() as program:
        program.until("the batch is committed again", lambda: case.checkpoint().newest_committed() == newest)
    assert f"batch {newest} (again)" in caplog.text
    assert served(case) == before
    case.produce(mixture(seed + 1, 100))
    case.run_until_read()
    case.check()


@pytest.mark.fault("F7", "FAILED: the database holds a batch that the checkpoint lacks; a replay is named, and exact")
def test_a_lost_checkpoint_is_refused_and_a_replay_is_exact(rig: Rig) -> None:
    case = rig.case()
    case.produce(events(60))
    case.run_until_read()
    before = served(case)
    shutil.rmtree(folder_of(case.checkpoint()))
    case.produce(events(10, 100))
    said = refused(case)
    assert f"the database holds batch {case.batches()[-1]['batch_id']} of checkpoint g1, but it holds no batch" in said
    assert "'./kappa reprocess'" in said
    assert served(case) == before
    replay(case)
    case.check()


@pytest.mark.fault("F7", "FAILED: an older copy of the whole checkpoint is refused as well")
def test_a_checkpoint_from_a_backup_is_refused(rig: Rig) -> None:
    case = rig.case()
    path = folder_of(case.checkpoint())
    case.produce(events(20))
    case.run_until_read()
    shutil.copytree(path, path.with_name("backup"))
    for first in (100, 200):
        case.produce(events(20, first))
        case.run_until_read()
    before = served(case)
    shutil.rmtree(path)
    path.with_name("backup").rename(path)
    said = refused(case)
    assert "its newest batch is" in said
    assert "'./kappa reprocess'" in said
    assert served(case) == before
