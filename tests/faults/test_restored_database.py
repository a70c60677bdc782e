"""The database comes back from a backup that is older than the checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from stack.database import backups
from tests.faults.recoveries import refused, replay, served
from tests.rigs.case import Case
from tests.rigs.events import events, mixture
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig


@contextmanager
def restored(case: Case) -> Iterator[None]:
    """Take a backup of the case's database; after the body it is what the database is again."""
    file = case.settings.home / "database.backup"
    backups.backup(case.settings, file)
    yield
    backups.restore(case.settings, file)


@pytest.mark.fault("F34", "FAILED: the checkpoint is ahead of the database; a replay is named, and exact afterwards")
def test_a_database_older_than_the_checkpoints_is_refused_and_a_replay_is_exact(rig: Rig, seed: int) -> None:
    case = rig.case("ad_ctr", "quarantine", records_per_batch=100, cadence_ms=0)
    case.produce(mixture(seed, 200))
    case.run_until_read()
    with restored(case):
        before = {job: served(case, job) for job in case.versions}
        case.produce(mixture(seed + 1, 300))
        case.run_until_read()
        assert all(len(case.batches(job)) >= len(before[job][2]) + 3 for job in case.versions)  # type: ignore[arg-type]
    for job in case.versions:
        committed, recorded = case.checkpoint(job).newest_committed(), case.batches(job)[-1]["batch_id"]
        said = refused(case, job)
        assert f"checkpoint g1 committed batch {committed}, the database's newest is {recorded}" in said
        assert "'./kappa reprocess'" in said
        assert served(case, job) == before[job]
    for job in case.versions:
        replay(case, job)
    case.check()


def test_a_database_from_before_the_version_s_first_batch_is_refused(rig: Rig) -> None:
    case = rig.case()
    case.produce(events(20))
    with restored(case):
        case.run_until_read()
    said = refused(case)
    assert "the database's newest is None" in said
    assert case.rows() == []
