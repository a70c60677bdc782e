"""A driver goes on from its checkpoint only where the database is at the same place; on a real Postgres and a real
Kafka, up to where it would make its Spark session."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator

import pytest

from jobs import session
from jobs.driver import query_loop
from jobs.driver.ownership import Identity
from jobs.driver.query_loop import Driver
from jobs.driver.registry import DriverRegistry
from kappa.core.checkpoint.reader import METADATA, CheckpointLost, DatabaseBehind, ForeignCheckpoint
from kappa.core.store.folder import Folder
from kappa.core.store.location import StoreAway
from tests.jobs.books import FIRST, Desk
from tests.rigs.case import Case
from tests.rigs.checkpoint_folders import folder_of

pytestmark = pytest.mark.rig
READ = {"0": 4, "1": 1}
"""Where the first batch of the books ends."""


class GoesOn(Exception):  # noqa: N818 - it is no error
    """The driver found nothing to refuse."""


@pytest.fixture
def registry(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[DriverRegistry]:
    """That of a version which has committed batch 0."""

    def go_on(*_: object, **__: object) -> None:
        raise GoesOn

    monkeypatch.setattr(session, "create", go_on)
    desk.write(desk.book.batch(0, FIRST))
    registry = DriverRegistry(desk.case.settings, "ad_ctr", 1, 0)
    yield registry
    registry.close()
    desk.case.query(OF_GENERATION, 1)
    desk.case.query("truncate registry.generation, registry.finite_program, registry.change")


def start(case: Case, registry: DriverRegistry) -> None:
    Driver(case.settings, registry.describe(), registry, Identity("driver-1", 0, os.getppid())).run()


def hold(case: Case, batches: int, end: dict[str, int] | None = None, generation: int = 1) -> None:
    """Let the checkpoint of a generation hold so many batches, all of which end at the same offsets."""
    ends = json.dumps({case.settings.topic.name: end or READ})
    told = {
        "offsets": f'v1\n{{"batchWatermarkMs": 0}}\n{ends}',
        "commits": 'v1\n{"nextBatchWatermarkMs": 0}',
    }
    path = folder_of(case.settings.checkpoints("ad_ctr", 1) / f"g{generation}")
    shutil.rmtree(path, ignore_errors=True)
    for folder, text in told.items():
        (path / folder).mkdir(parents=True)
        for batch in range(batches):
            (path / folder / str(batch)).write_text(text)
    (path / METADATA).write_text('{"id": "one"}')


def test_a_driver_goes_on_where_checkpoint_and_database_agree(desk: Desk, registry: DriverRegistry) -> None:
    hold(desk.case, 1)
    with pytest.raises(GoesOn):
        start(desk.case, registry)


def test_a_store_that_is_away_is_waited_for_and_no_batch_is_taken_to_be_lost(
    desk: Desk, registry: DriverRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(desk.case, 1)
    names, red = Folder.names, []

    def away(store: Folder, key: str) -> set[str]:
        red.append(desk.case.red().get("query", ""))
        if len(red) < 5:
            raise StoreAway(key, "connection refused")
        return names(store, key)

    monkeypatch.setattr(Folder, "names", away)
    monkeypatch.setattr(query_loop, "STORE_POLL_SECONDS", 0.1)
    with pytest.raises(GoesOn):
        start(desk.case, registry)
    assert "connection refused" in red[4]


@pytest.mark.red_without("checkpoint behind", "GoesOn|DamagedOffsets")
@pytest.mark.parametrize(("batches", "why"), [(0, CheckpointLost), (2, DatabaseBehind)], ids=["lost", "ahead"])
def test_a_checkpoint_that_holds_other_batches_is_refused(
    desk: Desk, registry: DriverRegistry, batches: int, why: type[Exception]
) -> None:
    hold(desk.case, batches)
    with pytest.raises(why):
        start(desk.case, registry)


@pytest.mark.red_without("checkpoint elsewhere", "GoesOn")
def test_a_checkpoint_of_the_same_batches_that_ends_elsewhere_is_refused(desk: Desk, registry: DriverRegistry) -> None:
    hold(desk.case, 1, {"0": 3, "1": 2})
    with pytest.raises(ForeignCheckpoint):
        start(desk.case, registry)


@pytest.mark.red_without("generation at the start", "DatabaseBehind")
def test_a_checkpoint_is_held_against_the_batches_of_its_own_generation(desk: Desk, registry: DriverRegistry) -> None:
    """Batch 1 is the repartition's own: no batch of the second generation is in the database yet."""
    hold(desk.case, 2, generation=2)
    desk.case.query(OF_GENERATION, 2)
    desk.case.query(GENERATION)
    with pytest.raises(GoesOn):
        start(desk.case, registry)


OF_GENERATION = "update registry.job_version set generation = %s where job = 'ad_ctr'"
GENERATION = """
with change as (
    insert into registry.change (change_id, job, version, verb, run_id, desired, old, new)
    values (gen_random_uuid(), 'ad_ctr', 1, 'rescale', 'run', 'running', '{}', '{}') returning change_id
)
insert into registry.generation (job, version, generation, made_from, change_id, state_partitions, base_batch_id, proof)
select 'ad_ctr', 1, 2, 1, change_id, 4, 1, '{}' from change
"""
