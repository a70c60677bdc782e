"""What the registry promises, asked of the fake and of the one in Postgres alike, on rig R0."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from kappa.core.installation.settings import Settings
from kappa.core.versions import Desired, Segment, State
from kappa.registry.port import Registry, ServedByAnother, StagedByAnother, UnknownVersion
from kappa.registry.postgres import PostgresRegistry
from kappa.unavailable import Unreachable
from tests.plugins.registries import BY, OTHER, CheckError, speaks_against, version


def test_what_was_staged_is_there_and_staging_again_changes_nothing(registry: Registry, job: str) -> None:
    for _ in range(2):
        registry.stage(version(job), BY, {"plan": 1})
    assert registry.versions(job) == [version(job)]
    assert [entry.action for entry in registry.entries(BY.run_id) if entry.job == job] == ["deploy.staged"]


def test_a_version_begins_with_the_first_generation_of_its_checkpoint(registry: Registry, job: str) -> None:
    registry.stage(replace(version(job), generation=7), BY, {})
    assert registry.versions(job)[0].generation == 1


def test_a_version_is_staged_by_one_run_only(registry: Registry, job: str) -> None:
    registry.stage(version(job), BY, {})
    with pytest.raises(StagedByAnother, match=BY.run_id):
        registry.stage(version(job), OTHER, {})


def test_what_its_check_speaks_against_is_not_staged(registry: Registry, job: str) -> None:
    with pytest.raises(CheckError):
        registry.stage(version(job), BY, {}, speaks_against)
    assert registry.versions(job) == []
    registry.stage(version(job), BY, {}, lambda: None)


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


def test_a_submission_leads_to_its_version(registry: Registry, job: str) -> None:
    registry.stage(version(job), BY, {})
    assert job not in {name for name, _ in registry.submissions().values()}
    registry.record_submission(registry.intend_launch(job, 1, uuid4()).launch_id, f"driver-{job}")
    assert registry.submissions()[f"driver-{job}"] == (job, 1)


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


def test_a_version_that_gave_up_is_live_again_only_where_it_serves_the_live_end(registry: Registry, job: str) -> None:
    for number in (1, 2, 3):
        registry.stage(version(job, number), BY, {})
    registry.go_live(job, 1, BY)
    for number in (1, 2):
        registry.give_up(job, number, "broken")
    for _ in range(2):
        assert [registry.revive(job, n) for n in (1, 2, 3)] == [State.LIVE, State.FAILED, State.STAGED]
        assert [found.state for found in registry.versions(job)] == [State.LIVE, State.FAILED, State.STAGED]
    assert registry.red_lines(job, 1) == ["failed: broken"]
    with pytest.raises(UnknownVersion):
        registry.revive(job, 4)


def test_nothing_is_known_of_a_driver_that_never_beat(registry: Registry, job: str) -> None:
    registry.stage(version(job), BY, {})
    assert registry.heartbeat(job, 1) is None
    assert registry.red_lines(job, 1) == []
    registry.clear_red_lines(job, 1)
    assert not registry.drained_since(job, 1, datetime.now(UTC) - timedelta(days=1))


def test_an_absent_database_is_named_with_the_remedy(tmp_path: Any) -> None:
    absent = PostgresRegistry(Settings(home=tmp_path).dsn("kappa_registry").replace("port=15432", "port=1"))
    with pytest.raises(Unreachable, match=r"Postgres at 127.0.0.1:1 .* ./kappa up starts it"):
        absent.versions("ad_ctr")
