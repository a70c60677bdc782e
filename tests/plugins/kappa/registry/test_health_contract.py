"""What the registry promises of a version's health, asked of the fake and of the one in Postgres alike, on rig R0."""

from __future__ import annotations

from uuid import uuid4

import pytest

from kappa.core.audit import Entry
from kappa.core.changes import Change, RunsAs
from kappa.core.versions import Desired, Health, State
from kappa.registry.port import Registry, UnknownVersion
from tests.plugins.registries import BY, Trial, version

SILENT = "silent: wanted running, but no heartbeat for 30 s"
STALLED = "stalled: wanted running, records wait, and nothing was committed for 2 min"


def test_of_a_version_that_never_beat_no_time_is_known(registry: Registry, job: str) -> None:
    registry.stage(version(job), BY, {})
    assert registry.health(job, 1) == Health(None, None, 0, 0.0, None)


def test_a_version_that_does_not_exist_has_no_health(registry: Registry, job: str) -> None:
    with pytest.raises(UnknownVersion):
        registry.health(job, 1)
    with pytest.raises(UnknownVersion):
        registry.give_up(job, 1, "why")


def test_a_driver_that_goes_silent_is_seen(trial: Trial, job: str) -> None:
    registry = trial.registry
    registry.stage(version(job), BY, {})
    trial.beat(batch_ms=250)
    well = registry.health(job, 1)
    assert (well.batch_ms, well.red) == (250, ())
    assert well.beat_seconds is not None
    assert well.commit_seconds is not None
    assert 0 <= well.beat_seconds <= well.commit_seconds + 1 < 31
    trial.two_hours_pass()
    still = registry.health(job, 1)
    assert still.red == (SILENT,)
    assert still.beat_seconds is not None
    assert 7200 <= still.beat_seconds < 7230


def test_a_driver_that_beats_and_commits_nothing_while_records_wait_is_seen(trial: Trial, job: str) -> None:
    registry = trial.registry
    registry.stage(version(job), BY, {})
    trial.beat(batch_ms=250)
    trial.unread(7200)
    assert registry.health(job, 1).red == (), "it has just committed"
    trial.two_hours_pass()
    assert registry.health(job, 1).red == (SILENT,), "one line is enough"
    trial.beat_again()
    assert registry.health(job, 1).red == (STALLED,)
    trial.unread(60)
    assert registry.health(job, 1).red == (), "the first record after a quiet time has not waited for long"
    trial.unread(7200)
    registry.intend_launch(job, 1, uuid4())
    assert registry.health(job, 1).red == (), "a driver that was just launched is given time"


def test_a_version_that_is_wanted_stopped_may_stand_still(trial: Trial, job: str) -> None:
    trial.registry.stage(version(job), BY, {})
    trial.beat(batch_ms=250)
    trial.registry.desire(job, 1, Desired.STOPPED)
    trial.two_hours_pass()
    trial.beat_again()
    trial.unread(7200)
    assert trial.registry.health(job, 1).red == ()


def test_a_version_that_is_wanted_stopped_may_be_silent(trial: Trial, job: str) -> None:
    trial.registry.stage(version(job), BY, {})
    trial.registry.desire(job, 1, Desired.STOPPED)
    trial.two_hours_pass()
    assert trial.registry.health(job, 1).red == ()


def test_a_version_that_a_change_keeps_stopped_for_long_is_seen(trial: Trial, job: str) -> None:
    registry, runs_as = trial.registry, RunsAs("a" * 16, {"allowed_lateness_ms": 7}, 1)
    registry.stage(version(job), BY, {})
    change = Change(uuid4(), job, 1, "rescale", BY.run_id, Desired.RUNNING, runs_as, runs_as)
    registry.hold(registry.begin_change(change).change_id)
    assert registry.health(job, 1).red == ()
    trial.two_hours_pass()
    (line,) = registry.health(job, 1).red
    assert line == f"held: wanted running, but held by a rescale, run {BY.run_id}, and no heartbeat for 2 min"


def test_a_version_that_is_given_up_is_failed_and_says_why_once(registry: Registry, job: str) -> None:
    registry.stage(version(job), BY, {})
    registry.give_up(job, 1, "restarted 3 times in an hour")
    registry.give_up(job, 1, "restarted 4 times in an hour")
    assert registry.versions(job)[0].state is State.FAILED
    assert registry.health(job, 1).red == ("failed: restarted 4 times in an hour",)
    registry.clear_red_lines(job, 1)
    assert registry.health(job, 1).red == ("failed: the driver was restarted too often and gave up",)


def test_the_latest_look_that_found_the_log_away_and_the_first_that_found_it_back_are_known(
    trial: Trial, job: str
) -> None:
    registry = trial.registry
    registry.stage(version(job), BY, {})
    assert (registry.health(job, 1).log_away_at, registry.health(job, 1).log_back_at) == (None, None)
    for action in ("repair.log_back", "repair.log_away", "repair.log_away"):
        registry.record(Entry(BY, action, job, 1))
        trial.two_hours_pass()
    away = registry.health(job, 1)
    assert away.log_away_at is not None
    assert away.log_back_at is None, "it was back before that"
    registry.record(Entry(BY, "repair.log_back", job, 1))
    first = registry.health(job, 1).log_back_at
    trial.two_hours_pass()
    registry.record(Entry(BY, "repair.log_back", job, 1))
    back = registry.health(job, 1)
    assert first is not None
    assert back.log_back_at is not None
    assert back.log_away_at is not None
    assert back.log_away_at < back.log_back_at <= first


def test_repairs_of_the_last_hour_are_counted_for_the_version_alone(trial: Trial, job: str) -> None:
    registry = trial.registry
    registry.stage(version(job), BY, {})
    registry.record(Entry(BY, "repair.restarted", job, 1))
    trial.two_hours_pass()
    for entry in (
        Entry(BY, "repair.restarted", job, 1),
        Entry(BY, "repair.restarted", job, 2),
        Entry(BY, "repair.done", job, 1),
        Entry(BY, "repair.restarted", job, 1),
    ):
        registry.record(entry)
    repairs = registry.health(job, 1).repairs
    assert len(repairs) == 2
    assert repairs == tuple(sorted(repairs))


def test_the_time_is_the_one_by_which_all_else_was_noted(trial: Trial, job: str) -> None:
    registry = trial.registry
    registry.stage(version(job), BY, {})
    before = registry.now()
    launched = registry.intend_launch(job, 1, uuid4())
    assert before <= launched.intended_at <= registry.now()
    assert before.tzinfo is not None
