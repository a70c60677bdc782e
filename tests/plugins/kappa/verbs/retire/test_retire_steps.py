"""The sweep that retires: what it stops, frees and keeps, and what it leaves to whoever holds it."""

from __future__ import annotations

import pytest

from kappa.core.audit import Author
from kappa.core.replays import Answer
from kappa.core.versions import Desired, State
from kappa.verbs import lease
from kappa.verbs.promote import steps as promote
from kappa.verbs.retire import steps as retire
from tests.plugins.conftest import Stage
from tests.plugins.registries import version as a_version
from tests.plugins.replay_runs import JOBS, deployed, move, run_all, serving
from tests.rigs.checkpoint_folders import folder_of

OTHER, SWEEP = Author("other", "run-2"), Author("airflow", "sweep-1")
HOUR = 3600.0


def sweep(stage: Stage, by: Author = SWEEP) -> str:
    """Plan and carry out."""
    return retire.carry_out(stage.platform, retire.plan_retire(stage.platform, by), by)


def back_and_forth(stage: Stage) -> None:
    """Version 1 of both jobs serves again, then version 2."""
    back, forth = Author("ada", "run-b", "why"), Author("bob", "run-f", "why")
    move(stage.platform, promote.ROLLBACK, promote.plan_rollback(stage.platform, JOBS), back)
    move(stage.platform, promote.PROMOTE, promote.plan_promote(stage.platform, JOBS, forth), forth)


def checkpoints(stage: Stage) -> list[str]:
    """A file in each version's checkpoint."""
    for job, version in stage.registry.held:
        folder = folder_of(stage.platform.settings.checkpoints(job, version) / "g1")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "metadata").write_text("x" * 100)
    return [str(folder) for folder in (stage.platform.settings.home / "checkpoints").glob("*/*")]


def replayed(stage: Stage, by: Author) -> None:
    """Version 2 of both jobs serves, from other code that gives the same; version 1 is PREVIOUS."""
    deployed(stage, by)
    stage.change("jobs/sinks.py", "SINK = 3", "SINK = 4")
    stage.build()
    run_all(stage.platform, OTHER)
    checkpoints(stage)


def test_a_previous_version_is_stopped_after_its_hour_and_retired_a_day_later(stage: Stage, author: Author) -> None:
    replayed(stage, author)
    assert "nothing to retire" in sweep(stage)
    stage.clock.sleep(HOUR + 1)
    assert "ad_ctr v1 was stopped" in sweep(stage)
    assert stage.registry.held["ad_ctr", 1].desired is Desired.STOPPED
    assert (stage.platform.settings.home / "checkpoints/ad_ctr/v1").exists()
    stage.clock.sleep(24 * HOUR)
    said = sweep(stage)
    assert "ad_ctr v1 was retired: 0.0 MB of rows and 0.0 MB of checkpoint freed" in said
    assert "artifacts that no version needs" in said
    assert stage.registry.held["client_spend", 1].state is State.RETIRED
    assert not (stage.platform.settings.home / "checkpoints/ad_ctr/v1").exists()
    assert (stage.platform.settings.home / "checkpoints/ad_ctr/v2").exists()
    assert len(list(stage.platform.settings.artifacts.iterdir())) == 1
    assert serving(stage) == {"ad_ctr": 2, "client_spend": 2}


def test_what_another_run_holds_is_left(stage: Stage, author: Author) -> None:
    replayed(stage, author)
    stage.clock.sleep(26 * HOUR)
    plan = retire.plan_retire(stage.platform, SWEEP)
    lease.take_on(stage.platform, "rollback", {"ad_ctr": 1}, OTHER, HOUR, 0, lambda _: False)
    assert "ad_ctr v1 is held by a rollback" in retire.carry_out(stage.platform, plan, SWEEP)
    assert "held by a rollback" in dict(retire.plan_retire(stage.platform, SWEEP).rows())["ad_ctr v1"]
    assert stage.registry.held["ad_ctr", 1].state is State.PREVIOUS
    assert stage.registry.held["client_spend", 1].state is State.RETIRED


@pytest.mark.parametrize("asked", [None, ("ad_ctr", 1)], ids=["by the sweep", "by hand"])
def test_a_version_that_has_served_once_more_since_the_plan_has_its_time_anew(
    stage: Stage, author: Author, asked: tuple[str, int] | None
) -> None:
    """The task of an older run is cleared."""
    replayed(stage, author)
    stage.clock.sleep(26 * HOUR)
    plan = retire.plan_retire(stage.platform, SWEEP, asked)
    back_and_forth(stage)
    said = retire.carry_out(stage.platform, plan, SWEEP)
    assert "ad_ctr v1 is left: previous since 2026-02-01T14:" in said
    assert stage.registry.held["ad_ctr", 1].state is State.PREVIOUS


def test_a_version_that_has_served_once_more_since_the_plan_runs_on(stage: Stage, author: Author) -> None:
    replayed(stage, author)
    stage.clock.sleep(2 * HOUR)
    plan = retire.plan_retire(stage.platform, SWEEP)
    back_and_forth(stage)
    assert "ad_ctr v1 is left: previous since" in retire.carry_out(stage.platform, plan, SWEEP)
    assert stage.registry.held["ad_ctr", 1].desired is Desired.RUNNING


def test_a_stop_that_was_cut_short_is_brought_to_its_end(stage: Stage, author: Author) -> None:
    replayed(stage, author)
    stage.clock.sleep(2 * HOUR)
    plan = retire.plan_retire(stage.platform, SWEEP)
    stage.registry.desire("ad_ctr", 1, Desired.STOPPED)
    assert "ad_ctr v1 was stopped" in retire.carry_out(stage.platform, plan, SWEEP)
    assert stage.registry.open_launch("ad_ctr", 1) is None


def test_rows_in_use_are_freed_by_a_later_sweep(stage: Stage, author: Author) -> None:
    replayed(stage, author)
    stage.clock.sleep(26 * HOUR)
    stage.releases.in_use.add(("ad_ctr", 1))
    assert "its rows could not be dropped" in sweep(stage)
    stage.releases.in_use.clear()
    assert "ad_ctr v1: another 0.0 MB freed" in sweep(stage)
    assert stage.releases.unfreed() == set()


def test_a_replay_whose_run_died_is_ended_and_its_candidates_time_begins(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    with pytest.raises(Exception, match="nobody has agreed"):
        run_all(stage.platform, OTHER, answer=None)
    assert "the replay ad_ctr v2, client_spend v2 was ended" in sweep(stage)
    stage.clock.sleep(HOUR + 1)
    assert "ad_ctr v2 was stopped" in sweep(stage)


def test_by_hand_it_is_at_once_but_never_what_serves_or_is_pinned(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    run_all(stage.platform, OTHER, answer=Answer.REJECTED)
    with pytest.raises(retire.NotRetired, match="ad_ctr v1 is not retired: it serves the live end"):
        retire.plan_retire(stage.platform, SWEEP, ("ad_ctr", 1))
    stage.releases.pin("ad_ctr", 2, author)
    with pytest.raises(retire.NotRetired, match="it is pinned"):
        retire.plan_retire(stage.platform, SWEEP, ("ad_ctr", 2))
    stage.releases.unpin("ad_ctr", 2, author)
    said = retire.carry_out(stage.platform, retire.plan_retire(stage.platform, SWEEP, ("ad_ctr", 2)), SWEEP)
    assert "ad_ctr v2 was retired" in said
    assert stage.registry.held["client_spend", 2].state is State.CAUGHT_UP


def replaced(stage: Stage, by: Author, failed_hours_ago: float) -> None:
    """Version 2 of both jobs serves in the place of version 1, of which that of ad_ctr had failed so long ago."""
    deployed(stage, by)
    stage.registry.give_up("ad_ctr", 1, "it died again and again")
    stage.clock.sleep(failed_hours_ago * HOUR)
    run_all(stage.platform, OTHER)
    assert (stage.registry.held["ad_ctr", 1].state, serving(stage)["ad_ctr"]) == (State.FAILED, 2)


@pytest.mark.parametrize("failed_hours_ago", [0, 99])
def test_a_failed_version_that_was_replaced_is_retired_a_day_later(
    stage: Stage, author: Author, failed_hours_ago: float
) -> None:
    replaced(stage, author, failed_hours_ago)
    stage.clock.sleep(24 * HOUR)
    assert "ad_ctr v1" not in sweep(stage)
    stage.clock.sleep(HOUR + 1)
    assert "ad_ctr v1 was retired" in sweep(stage)


def test_a_failed_version_that_was_replaced_is_retired_by_hand_at_once(stage: Stage, author: Author) -> None:
    replaced(stage, author, failed_hours_ago=0)
    plan = retire.plan_retire(stage.platform, SWEEP, ("ad_ctr", 1))
    assert "ad_ctr v1 was retired" in retire.carry_out(stage.platform, plan, SWEEP)


def test_a_version_of_an_old_replay_that_failed_is_kept_for_a_day(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    run_all(stage.platform, OTHER)
    stage.clock.sleep(99 * HOUR)
    stage.registry.give_up("ad_ctr", 2, "it died again and again")
    run_all(stage.platform, Author("other", "run-3"))
    assert serving(stage)["ad_ctr"] == 3
    assert "ad_ctr v2" not in sweep(stage)
    stage.clock.sleep(26 * HOUR)
    assert "ad_ctr v2 was retired" in sweep(stage)


def test_a_first_deployment_that_failed_is_kept_until_another_takes_its_place(stage: Stage, author: Author) -> None:
    stage.registry.stage(a_version("ad_ctr"), author, {})
    stage.registry.give_up("ad_ctr", 1, "it died again and again")
    stage.clock.sleep(99 * HOUR)
    assert "ad_ctr v1" not in sweep(stage)
    assert "its red line stays" in dict(retire.plan_retire(stage.platform, SWEEP).rows())["ad_ctr v1"]
    deployed(stage, author)
    assert serving(stage)["ad_ctr"] == 2
    assert "ad_ctr v1 was retired" in sweep(stage)


def test_a_first_deployment_that_failed_is_retired_by_hand(stage: Stage, author: Author) -> None:
    stage.registry.stage(a_version("ad_ctr"), author, {})
    stage.registry.give_up("ad_ctr", 1, "it died again and again")
    plan = retire.plan_retire(stage.platform, SWEEP, ("ad_ctr", 1))
    assert "ad_ctr v1 was retired" in retire.carry_out(stage.platform, plan, SWEEP)
