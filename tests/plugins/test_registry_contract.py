"""What the registry promises, asked of the fake and of the one in Postgres alike."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from kappa.hooks.conflicts import ServedByAnother, StagedByAnother, UnderWay, UnknownVersion
from kappa.hooks.postgres import PostgresRegistry
from kappa.hooks.reach import Unreachable
from kappa.hooks.registry import Author, Entry, Registry, Segment, Version
from kappa.states import Desired, State

from jobs.settings import Settings
from tests.plugins.fakes import FakeRegistry

BY, OTHER = Author("tester", f"run-{uuid4()}", "because"), Author("other", f"run-{uuid4()}")
TABLES = (
    "release",
    "segment",
    "launch",
    "progress",
    "fence",
    "heartbeat",
    "red_line",
    "job_version",
    "output",
)


@pytest.fixture
def job() -> str:
    """A job of this test's own."""
    return f"trial_{secrets.token_hex(4)}"


@pytest.fixture(params=["fake", pytest.param("postgres", marks=pytest.mark.integration)])
def registry(request: pytest.FixtureRequest, job: str) -> Iterator[Registry]:
    if request.param == "fake":
        yield FakeRegistry()
        return
    stack: Settings = request.getfixturevalue("stack")
    with psycopg.connect(stack.dsn("kappa_owner"), autocommit=True) as owner:
        owner.execute(f"create table data.{job} (version integer not null, n integer) partition by list (version)")
        owner.execute("insert into registry.output values (%s, %s)", [job, job])
        try:
            yield PostgresRegistry(stack.dsn("kappa_registry"))
        finally:
            _forget(owner, job)


def _forget(owner: psycopg.Connection[Any], job: str) -> None:
    owner.execute(f"drop table data.{job}")
    owner.execute("delete from registry.audit where run_id = any(%s)", [[BY.run_id, OTHER.run_id]])
    for table in TABLES:
        column = "%s = any(jobs)" if table == "release" else "job = %s"
        owner.execute(f"delete from registry.{table} where {column}", [job])


def version(job: str, number: int = 1) -> Version:
    """A version to stage."""
    return Version(
        job=job, version=number, state=State.STAGED, desired=Desired.RUNNING, artifact="a" * 16,
        state_digest="s", result_digest="r", settings={"allowed_lateness_ms": 7},
        topic="ad_events", topic_id="id",
        starts_at=datetime(2026, 1, 31, 12, tzinfo=UTC), start_offsets={0: 5, 1: 0},
    )  # fmt: skip


def test_what_was_staged_is_there_and_staging_again_changes_nothing(registry: Registry, job: str) -> None:
    for _ in range(2):
        registry.stage(version(job), BY, {"plan": 1})
    assert registry.versions(job) == [version(job)]
    assert [entry.action for entry in registry.entries(BY.run_id) if entry.job == job] == ["deploy.staged"]


def test_a_version_is_staged_by_one_run_only(registry: Registry, job: str) -> None:
    registry.stage(version(job), BY, {})
    with pytest.raises(StagedByAnother, match=BY.run_id):
        registry.stage(version(job), OTHER, {})


def test_desired_state_and_state_change_as_told(registry: Registry, job: str) -> None:
    registry.stage(version(job), BY, {})
    registry.desire(job, 1, Desired.STOPPED)
    registry.set_state(job, 1, State.LIVE, State.PREVIOUS)
    assert (registry.versions(job)[0].desired, registry.versions(job)[0].state) == (
        Desired.STOPPED,
        State.STAGED,
    )
    registry.set_state(job, 1, State.STAGED, State.FAILED)
    assert registry.versions(job)[0].state is State.FAILED


def test_one_launch_is_open_at_a_time(registry: Registry, job: str) -> None:
    registry.stage(version(job), BY, {})
    assert registry.open_launch(job, 1) is None
    first = registry.intend_launch(job, 1, uuid4())
    assert registry.intend_launch(job, 1, uuid4()) == first
    registry.record_submission(first.launch_id, "driver-1")
    assert registry.launch(first.launch_id).driver == "driver-1"
    registry.end_launch(first.launch_id)
    assert registry.launch(first.launch_id).ended
    assert registry.open_launch(job, 1) is None
    assert registry.intend_launch(job, 1, uuid4()).launch_id != first.launch_id


def test_a_version_that_does_not_exist_has_no_epoch(registry: Registry, job: str) -> None:
    with pytest.raises(UnknownVersion):
        registry.raise_epoch(job, 1)


def test_every_raise_is_a_new_epoch(registry: Registry, job: str) -> None:
    registry.stage(version(job), BY, {})
    assert [registry.raise_epoch(job, 1), registry.raise_epoch(job, 1)] == [1, 2]


def test_the_first_to_go_live_serves_all_windows_once(registry: Registry, job: str) -> None:
    registry.stage(version(job), BY, {})
    registry.stage(version(job, 2), BY, {})
    assert registry.go_live(job, 1, BY)
    assert not registry.go_live(job, 1, BY)
    assert registry.segments(job) == [Segment(job, "-infinity", "infinity", 1)]
    assert registry.versions(job)[0].state is State.LIVE
    with pytest.raises(ServedByAnother, match="served by v1"):
        registry.go_live(job, 2, BY)


def test_a_job_is_held_until_its_run_ends(registry: Registry, job: str) -> None:
    for _ in range(2):
        registry.begin("deploy", job, BY, 60)
    with pytest.raises(UnderWay, match=BY.run_id):
        registry.begin("stop", job, OTHER, 60)
    registry.record(Entry(BY, "deploy.done", job))
    registry.begin("stop", job, OTHER, 60)


def test_a_lease_ends_by_itself(registry: Registry, job: str) -> None:
    registry.begin("deploy", job, BY, 0)
    registry.begin("deploy", job, OTHER, 60)


def test_nothing_is_known_of_a_driver_that_never_beat(registry: Registry, job: str) -> None:
    registry.stage(version(job), BY, {})
    assert registry.heartbeat(job, 1) is None
    assert registry.red_lines(job, 1) == []
    registry.clear_red_lines(job, 1)
    assert not registry.drained_since(job, 1, datetime.now(UTC) - timedelta(days=1))


def test_an_absent_database_is_named_with_the_remedy(tmp_path: Any) -> None:
    absent = PostgresRegistry(Settings(home=tmp_path).dsn("kappa_registry").replace("port=15432", "port=1"))
    with pytest.raises(Unreachable, match=r"Postgres at 127.0.0.1:1 .* Run ./kappa up"):
        absent.versions("ad_ctr")
