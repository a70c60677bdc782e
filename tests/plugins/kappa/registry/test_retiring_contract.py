"""What Releases promise of pins and retirement, asked of the fake and of the ones in Postgres alike, on rig R0."""

from __future__ import annotations

import pytest

from kappa.core.replays import Freed
from kappa.core.versions import Desired, IllegalTransition, State
from kappa.registry.port import UnknownVersion
from kappa.registry.releases_port import AlreadyRetired, Pinned, RowsInUse, StillServes
from tests.plugins.registries import BY, version
from tests.plugins.release_trials import (
    ReleaseTrial,
    T,
    actions,
    author,
    plan,
    serve,
    set_caught_up,
    stage,
    states,
)


def test_a_version_is_pinned_once_and_unpinned_once(releasing: ReleaseTrial) -> None:
    job, by, releases = releasing.names[0], author(), releasing.releases
    with pytest.raises(UnknownVersion):
        releases.pin(job, 1, by)
    releasing.registry.stage(version(job), BY, {})
    for _ in range(2):
        releases.pin(job, 1, by)
        assert (job, 1) in releases.pins()
    for _ in range(2):
        releases.unpin(job, 1, by)
        assert (job, 1) not in releases.pins()
    assert actions(releasing, by.run_id) == [("pin.set", job, 1), ("pin.removed", job, 1)]


def test_a_retired_version_is_shut_out_its_rows_go_and_its_numbers_stay(releasing: ReleaseTrial) -> None:
    serve(releasing)
    by, job = author(), releasing.names[0]
    stage(releasing, author())
    releasing.read(job, 2, {0: 9, 1: 0})
    releasing.write(job, 2)
    releasing.registry.give_up(job, 2, "broken")
    epoch = releasing.epoch(job, 2)
    freed = releasing.releases.retire(job, 2, by)
    assert freed.rows_bytes > 0
    held = releasing.registry.versions(job)[1]
    assert (held.state, held.desired, releasing.epoch(job, 2)) == (State.RETIRED, Desired.STOPPED, epoch + 1)
    assert releasing.registry.red_lines(job, 2) == []
    assert releasing.releases.standing(job, 2).read == 4
    assert releasing.releases.retire(job, 2, by) == Freed(job, 2, 0)
    assert (job, 2) not in releasing.releases.unfreed()
    assert actions(releasing, by.run_id) == [("retire.done", job, 2), ("retire.freed", job, 2)]
    with pytest.raises(AlreadyRetired):
        releasing.releases.pin(job, 2, by)


def test_what_serves_is_pinned_or_is_not_there_is_not_retired(releasing: ReleaseTrial) -> None:
    serve(releasing)
    by, job, releases = author(), releasing.names[0], releasing.releases
    stage(releasing, author())
    with pytest.raises(UnknownVersion):
        releases.retire(job, 3, by)
    releases.pin(job, 2, by)
    with pytest.raises(Pinned, match=f"{job} v2 was pinned by tester"):
        releases.retire(job, 2, by)
    set_caught_up(releasing, job, 2)
    set_caught_up(releasing, releasing.names[1], 2)
    releases.hand_over(plan(releasing), author())
    for number, since in ((1, "-infinity"), (2, T)):
        with pytest.raises(StillServes) as refused:
            releases.retire(job, number, by)
        assert f"{job} v{number} serves the windows from {since} to " in str(refused.value)
    assert states(releasing)[0] == [State.PREVIOUS, State.LIVE]
    assert releasing.epoch(job, 2) == 0


def test_a_live_version_without_a_segment_is_not_retired(releasing: ReleaseTrial) -> None:
    job = releasing.names[0]
    releasing.registry.stage(version(job), BY, {})
    releasing.registry.set_state(job, 1, State.STAGED, State.LIVE)
    with pytest.raises(IllegalTransition):
        releasing.releases.retire(job, 1, author())


def test_rows_that_are_being_read_stay_until_a_later_try(releasing: ReleaseTrial) -> None:
    by, job = author(), releasing.names[0]
    stage(releasing, author())
    releasing.write(job, 2)
    with releasing.in_use(job, 2):
        for _ in range(2):
            with pytest.raises(RowsInUse, match=f"{job} v2 is RETIRED, but its rows"):
                releasing.releases.retire(job, 2, by)
        assert (job, 2) in releasing.releases.unfreed()
    assert releasing.releases.retire(job, 2, by).rows_bytes > 0
    assert (job, 2) not in releasing.releases.unfreed()
