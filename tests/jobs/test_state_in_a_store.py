"""A version whose checkpoint lies in a bucket of S3 or in HDFS goes on after an end in a batch and over a repartition,
exactly; on rig R1 and real servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from pyspark.sql import SparkSession

from jobs import repartition
from jobs.driver.registry import DriverRegistry
from jobs.rescale.change_store import PostgresChangeStore
from jobs.rescale.checkpoint_lock import CheckpointLock
from kappa.core.changes import Change, Phase, RunsAs
from kappa.core.versions import Desired
from kappa.registry.postgres import PostgresRegistry
from tests.rigs.case import Case
from tests.rigs.events import mixture
from tests.rigs.rig import Rig
from tests.rigs.s3_server import files_in

pytestmark = [pytest.mark.rig, pytest.mark.timeout(600, func_only=True)]
JOB = "ad_ctr"


@pytest.fixture
def case(rig: Rig, spark: SparkSession, server_store: str) -> Iterator[Case]:
    """A version with two state partitions, and a session that can use its store."""
    case = rig.case_in(server_store, JOB, state_partitions=2, records_per_batch=100)
    with files_in(spark, case.settings.store.store):
        yield case


@pytest.mark.long(minutes=1)
def test_it_goes_on_from_a_batch_that_spark_never_committed_and_over_a_repartition(
    case: Case, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case.produce(mixture(seed, 300))
    case.run_until_read()
    newest = case.checkpoint().newest_committed()
    assert newest is not None
    (case.checkpoint().place / "commits").remove([str(newest)])
    with monkeypatch.context() as patch:
        patch.setattr(SparkSession, "stop", lambda _: None)
        _rescale(case, lambda change: _repartition_here(case, change))
    case.produce(mixture(seed + 1, 300))
    case.run_until_read()
    _check(case, newest)


def _rescale(case: Case, program: Callable[[UUID], None]) -> None:
    """What the steps of a rescale do around the program."""
    registry = PostgresRegistry(case.settings.dsn("kappa_registry"))
    (version,) = registry.versions(JOB)
    old = RunsAs(version.artifact, version.settings, version.generation)
    new = replace(old, settings={**old.settings, "state_partitions": 4}, generation=2)
    change = registry.begin_change(Change(uuid4(), JOB, version.version, "rescale", "run", Desired.STOPPED, old, new))
    registry.hold(change.change_id)
    case.query("update registry.launch set ended_at = coalesce(ended_at, clock_timestamp())")
    program(change.change_id)
    registry.switch(change.change_id)
    registry.end_change(change.change_id, Phase.DONE)


def _repartition_here(case: Case, change: UUID) -> None:
    settings, version = case.settings, case.version().version
    changes = PostgresChangeStore(settings, JOB, version, str(change))
    registry = DriverRegistry(settings, JOB, version)
    try:
        with CheckpointLock(settings, JOB, version) as lock:
            repartition.rescale(settings, JOB, version, changes, registry, lock)
    finally:
        changes.close()
        registry.close()


def _check(case: Case, newest: int) -> None:
    """All is exact; nothing lies on this host's disk; the new generation goes on from the old one's newest batch."""
    case.check()
    assert not (case.settings.home / "checkpoints").exists()
    (made,) = case.query("select * from ops.generations")
    assert made["folder"].startswith("g2-")
    assert made["base_batch_id"] == newest + 1
    facts = case.checkpoint(folder=made["folder"]).facts()
    assert (facts.state_partitions, facts.newest_committed == facts.newest_planned) == (4, True)
    assert facts.newest_committed is not None
    assert facts.newest_committed > newest + 1
    names = case.settings.checkpoints(JOB, case.version().version).names()
    assert names == {"g1", made["folder"]}
