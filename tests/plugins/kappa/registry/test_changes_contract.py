"""What the registry promises of changes in place, asked of the fake and of the one in Postgres alike, on rig R0."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import uuid4

import pytest

from kappa.core.audit import Author
from kappa.core.changes import Change, Mark, Phase, RunsAs
from kappa.core.checkpoint.reader import Planned
from kappa.core.versions import Desired, State, Version
from kappa.registry.port import Registry, UnknownVersion, Unsettled
from stack.waiting import until
from tests.plugins.registries import BY, OTHER, Trial, version

OLD = RunsAs("a" * 16, {"allowed_lateness_ms": 7}, 1)
NEW = RunsAs("b" * 16, {"allowed_lateness_ms": 7, "state_partitions": 4}, 2)


def begun(registry: Registry, job: str, by: Author = BY, desired: Desired = Desired.RUNNING) -> Change:
    """A change of version 1, which exists and is wanted so."""
    registry.stage(version(job), BY, {})
    registry.desire(job, 1, desired)
    return registry.begin_change(Change(uuid4(), job, 1, "rescale", by.run_id, desired, OLD, NEW))


def runs_as(found: Version) -> RunsAs:
    return RunsAs(found.artifact, found.settings, found.generation)


def now(registry: Registry, job: str) -> tuple[RunsAs, Desired, State]:
    """Version 1 as the registry holds it."""
    (found,) = registry.versions(job)
    return runs_as(found), found.desired, found.state


def test_a_begun_change_is_open_and_touches_nothing(registry: Registry, job: str) -> None:
    registry.stage(version(job), BY, {})
    assert registry.open_change(job, 1) is None
    change = begun(registry, job)
    assert (change.phase, change.marks, change.old, change.new) == (Phase.BEGUN, {}, OLD, NEW)
    assert registry.open_change(job, 1) == registry.change(change.change_id) == change
    assert now(registry, job) == (OLD, Desired.RUNNING, State.STAGED)


def test_a_run_that_begins_again_gets_the_change_it_has(registry: Registry, job: str) -> None:
    change = begun(registry, job)
    assert registry.begin_change(replace(change, change_id=uuid4())) == change
    registry.end_change(change.change_id, Phase.UNDONE)
    assert registry.begin_change(change).phase is Phase.UNDONE
    another = registry.begin_change(replace(change, change_id=uuid4()))
    assert (another.phase, another.change_id == change.change_id) == (Phase.BEGUN, False)


def test_an_open_change_of_another_run_must_be_settled_first(registry: Registry, job: str) -> None:
    change = begun(registry, job)
    registry.hold(change.change_id)
    with pytest.raises(Unsettled, match=rf"rescale of run {BY.run_id} \(phase held\)"):
        begun(registry, job, OTHER)
    registry.end_change(change.change_id, Phase.UNDONE)
    assert begun(registry, job, OTHER).run_id == OTHER.run_id


def test_what_does_not_exist_is_not_changed(registry: Registry, job: str) -> None:
    with pytest.raises(UnknownVersion):
        registry.begin_change(Change(uuid4(), job, 1, "deploy", BY.run_id, Desired.RUNNING, OLD, NEW))
    for act in (registry.change, registry.hold, registry.switch):
        with pytest.raises(LookupError):
            act(uuid4())


def test_a_held_version_is_wanted_stopped_and_is_otherwise_as_it_was(registry: Registry, job: str) -> None:
    change = begun(registry, job)
    for _ in range(2):
        registry.hold(change.change_id)
    assert registry.change(change.change_id).phase is Phase.HELD
    assert now(registry, job) == (OLD, Desired.STOPPED, State.STAGED)


@pytest.mark.parametrize("desired", Desired)
@pytest.mark.parametrize("holds", [True, False])
def test_a_switched_version_runs_as_the_new_one_if_it_is_wanted(
    registry: Registry, job: str, desired: Desired, holds: bool
) -> None:
    change = begun(registry, job, desired=desired)
    if holds:
        registry.hold(change.change_id)
    registry.switch(change.change_id)
    assert registry.change(change.change_id).phase is Phase.SWITCHED
    assert now(registry, job) == (NEW, desired, State.STAGED)
    registry.end_change(change.change_id, Phase.DONE)
    assert now(registry, job) == (NEW, desired, State.STAGED)
    assert registry.open_change(job, 1) is None


def test_a_switch_done_twice_is_done_once(registry: Registry, job: str) -> None:
    change = begun(registry, job)
    registry.switch(change.change_id)
    registry.desire(job, 1, Desired.STOPPED)
    registry.switch(change.change_id)
    registry.hold(change.change_id)
    assert (registry.change(change.change_id).phase, now(registry, job)[1]) == (Phase.SWITCHED, Desired.STOPPED)


@pytest.mark.parametrize("switches", [True, False])
def test_an_undone_change_gives_back_what_ran_and_what_is_wanted(registry: Registry, job: str, switches: bool) -> None:
    change = begun(registry, job)
    registry.hold(change.change_id)
    if switches:
        registry.switch(change.change_id)
    registry.end_change(change.change_id, Phase.UNDONE)
    assert registry.change(change.change_id).phase is Phase.UNDONE
    assert now(registry, job) == (OLD, Desired.RUNNING, State.STAGED)


@pytest.mark.parametrize(("end", "wanted"), [(Phase.DONE, Desired.RUNNING), (Phase.UNDONE, Desired.STOPPED)])
@pytest.mark.parametrize("holds", [True, False])
def test_a_deployment_means_that_the_job_runs_unless_it_is_undone(
    registry: Registry, job: str, holds: bool, end: Phase, wanted: Desired
) -> None:
    registry.stage(version(job), BY, {})
    registry.desire(job, 1, Desired.STOPPED)
    change = registry.begin_change(Change(uuid4(), job, 1, "deploy", BY.run_id, Desired.STOPPED, OLD, NEW))
    if holds:
        registry.hold(change.change_id)
    registry.switch(change.change_id)
    assert now(registry, job) == (NEW, Desired.RUNNING, State.STAGED)
    registry.end_change(change.change_id, end)
    assert now(registry, job)[1] is wanted


def test_a_change_stays_as_it_ended(registry: Registry, job: str) -> None:
    change = begun(registry, job)
    registry.end_change(change.change_id, Phase.UNDONE)
    ended = registry.change(change.change_id)
    registry.hold(change.change_id)
    registry.switch(change.change_id)
    registry.end_change(change.change_id, Phase.DONE)
    assert registry.change(change.change_id) == ended
    assert now(registry, job) == (OLD, Desired.RUNNING, State.STAGED)
    with pytest.raises(ValueError, match="does not end as held"):
        registry.end_change(change.change_id, Phase.HELD)


def test_a_version_that_failed_as_the_new_one_is_live_again_as_the_old_one(registry: Registry, job: str) -> None:
    registry.stage(version(job), BY, {})
    registry.go_live(job, 1, BY)
    change = begun(registry, job)
    registry.switch(change.change_id)
    registry.give_up(job, 1, "no module named b")
    registry.end_change(change.change_id, Phase.UNDONE)
    assert now(registry, job) == (OLD, Desired.RUNNING, State.LIVE)
    assert registry.red_lines(job, 1) == []


def test_a_failed_version_that_does_not_serve_the_live_end_stays_failed(registry: Registry, job: str) -> None:
    change = begun(registry, job)
    registry.switch(change.change_id)
    registry.give_up(job, 1, "no module named b")
    registry.end_change(change.change_id, Phase.UNDONE)
    assert now(registry, job) == (OLD, Desired.RUNNING, State.FAILED)
    assert registry.red_lines(job, 1) == ["failed: no module named b"]


def test_a_version_that_failed_before_the_switch_stays_failed(registry: Registry, job: str) -> None:
    registry.stage(version(job), BY, {})
    registry.go_live(job, 1, BY)
    change = begun(registry, job)
    registry.give_up(job, 1, "a gap in the checkpoint")
    registry.end_change(change.change_id, Phase.UNDONE)
    assert now(registry, job) == (OLD, Desired.RUNNING, State.FAILED)
    assert registry.red_lines(job, 1) == ["failed: a gap in the checkpoint"]


def test_the_moments_of_a_change_are_kept_as_utc_the_first_ones(trial: Trial, job: str) -> None:
    registry = trial.registry
    change = begun(registry, job)
    for act in (registry.hold, registry.switch, registry.switch):
        act(change.change_id)
    for _ in range(2):
        registry.mark(change.change_id, Mark.READY)
        registry.end_change(change.change_id, Phase.DONE)
        trial.two_hours_pass()
    marks = registry.change(change.change_id).marks
    registry.mark(change.change_id, Mark.READY)
    assert registry.change(change.change_id).marks == marks
    assert set(marks) == {"held", "switched", "ready", "done"}
    times = [datetime.fromisoformat(marks[name]) for name in ("held", "switched", "ready", "done")]
    assert times == sorted(times)
    assert {moment.utcoffset() for moment in times} == {timedelta(0)}


def test_a_generation_is_numbered_once_even_if_it_was_never_finished(trial: Trial, job: str) -> None:
    registry = trial.registry
    with pytest.raises(UnknownVersion):
        registry.next_generation(job, 1)
    registry.stage(version(job), BY, {})
    assert registry.next_generation(job, 1) == 2
    change = begun(registry, job)
    assert registry.next_generation(job, 1) == 3
    registry.end_change(change.change_id, Phase.UNDONE)
    assert registry.next_generation(job, 1) == 3


def test_what_a_repartition_tells_is_seen(trial: Trial, job: str) -> None:
    change = begun(trial.registry, job)
    trial.copied(change, 7)
    assert Mark.PROVED in trial.registry.change(change.change_id).marks
    assert trial.registry.next_generation(job, 1) == 8


def test_a_version_lies_in_the_folder_that_its_generations_row_names(trial: Trial, job: str) -> None:
    """The first generation has no row; older code enters one without a folder: both are named by their number."""
    change = begun(trial.registry, job)
    assert trial.registry.versions(job)[0].folder == trial.registry.folder(job, 1, 1) == "g1"
    trial.copied(change, 2)
    assert trial.registry.folder(job, 1, 2) == "g2"
    trial.copied(change, 2, "g2-a1b2c3d4")
    assert trial.registry.versions(job)[0].folder == "g1"
    trial.registry.switch(change.change_id)
    assert trial.registry.versions(job)[0].folder == trial.registry.folder(job, 1, 2) == "g2-a1b2c3d4"
    trial.registry.end_change(change.change_id, Phase.UNDONE)
    assert trial.registry.versions(job)[0].folder == "g1"


def test_batches_are_asked_for_by_generation(trial: Trial, job: str) -> None:
    trial.registry.stage(version(job), BY, {})
    trial.commit(1)
    assert [trial.registry.has_batches(job, 1, generation) for generation in (1, 2)] == [True, False]


def test_the_two_newest_batches_of_a_generation_are_told_to_the_millisecond(trial: Trial, job: str) -> None:
    trial.registry.stage(version(job), BY, {})
    told = {n: Planned({0: n, 1: 10 * n}, 1_795_262_400_123 + n) for n in range(4)}
    for batch_id, planned in told.items():
        trial.commit(1, batch_id, planned)
    assert trial.registry.newest_batches(job, 1, 1) == {3: told[3], 2: told[2]}
    assert trial.registry.newest_batches(job, 1, 2) == {}


def test_a_checkpoint_is_free_when_no_finite_spark_work_holds_it(trial: Trial, job: str) -> None:
    with trial.occupied():
        assert not trial.registry.checkpoint_is_free(job, 1)
        assert trial.registry.checkpoint_is_free(job, 2)
    assert until(lambda: trial.registry.checkpoint_is_free(job, 1), 10), "Postgres ends a session after its client"
    with trial.occupied():
        assert not trial.registry.checkpoint_is_free(job, 1)
