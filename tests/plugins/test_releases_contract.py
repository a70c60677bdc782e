"""What Releases promise, asked of the fake and of the ones in Postgres alike."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest
from kappa.hooks.conflicts import StagedByAnother, UnknownVersion
from kappa.hooks.registry import BEGINNING
from kappa.hooks.release_conflicts import (
    AlreadyRetired,
    BrokenSegments,
    HeldUp,
    NotCaughtUp,
    NotFit,
    Pinned,
    RowsInUse,
    SegmentsChanged,
    StillServes,
    UnknownReplay,
)
from kappa.replays import Answer, Freed, Standing
from kappa.states import Desired, IllegalTransition, State

from tests.plugins.registries import BY, version
from tests.plugins.release_trials import (
    START,
    ReleaseTrial,
    T,
    attempt,
    author,
    back,
    candidates,
    picture,
    plan,
    serve,
    set_caught_up,
    split,
    stage,
    whole,
)  # fmt: skip


def states(trial: ReleaseTrial) -> list[list[State]]:
    """The states of all versions, by job."""
    return [[held.state for held in trial.registry.versions(job)] for job in trial.names]


def served(trial: ReleaseTrial) -> list[object]:
    """The segments of both jobs."""
    return [segment for job in trial.names for segment in trial.registry.segments(job)]


def actions(trial: ReleaseTrial, run_id: str) -> list[tuple[str, str | None, int | None]]:
    """What a run wrote into the audit."""
    return [(entry.action, entry.job, entry.version) for entry in trial.registry.entries(run_id)]


def test_candidates_are_staged_together_and_again_changes_nothing(releasing: ReleaseTrial) -> None:
    by = author()
    wanted = attempt(releasing, by)
    versions = [version(job, 2) for job in releasing.names]
    staged = releasing.releases.stage_candidates(versions, wanted, by)
    assert staged == wanted
    again = releasing.releases.stage_candidates(versions, replace(wanted, replay_id=uuid4()), by)
    assert again == staged
    assert [releasing.registry.versions(job) for job in releasing.names] == [[held] for held in versions]
    assert actions(releasing, by.run_id) == [("replay.staged", job, 2) for job in releasing.names]
    assert [releasing.releases.standing(job, 2).next_offsets for job in releasing.names] == [START, START]


def test_a_candidate_of_another_run_refuses_all_of_them(releasing: ReleaseTrial) -> None:
    one, other = author(), author("other")
    taken = releasing.names[1]
    releasing.releases.stage_candidates([version(taken, 2)], replace(attempt(releasing, one), versions={taken: 2}), one)
    with pytest.raises(StagedByAnother, match=rf"{taken} v2 .* run {one.run_id}"):
        stage(releasing, other)
    assert releasing.registry.versions(releasing.names[0]) == []
    assert releasing.releases.replay_of_run(other.run_id) is None
    with pytest.raises(StagedByAnother, match=one.run_id):
        releasing.registry.stage(version(taken, 2), other, {})


def test_a_replay_is_found_by_its_id_by_its_run_and_among_the_open_ones(releasing: ReleaseTrial) -> None:
    releases, by = releasing.releases, author()
    assert releases.replay_of_run(by.run_id) is None
    with pytest.raises(UnknownReplay):
        releases.replay(uuid4())
    first, second = stage(releasing, by, 2), stage(releasing, author(), 3)
    assert releases.replay(first.replay_id) == releases.replay_of_run(by.run_id) == first
    ours = [replay for replay in releases.open_replays() if set(replay.versions) == set(releasing.names)]
    assert ours == [first, second]
    releases.end_replay(first.replay_id, "promoted")
    assert first.replay_id not in {replay.replay_id for replay in releases.open_replays()}


def test_the_newest_validation_the_first_answer_and_the_first_outcome_count(releasing: ReleaseTrial) -> None:
    releases, by = releasing.releases, author()
    replay_id = stage(releasing, by).replay_id
    releases.note_validation(replay_id, {"success": False})
    assert releases.note_validation(replay_id, {"success": True}).validation == {"success": True}
    releases.note_answer(replay_id, Answer.REJECTED, author())
    late = releases.note_answer(replay_id, Answer.APPROVED, by)
    assert (late.answer, late.answered_by) == ("rejected", "tester")
    assert releases.note_validation(replay_id, {"success": False}).validation == {"success": True}
    releases.end_replay(replay_id, "rejected by tester")
    assert releases.end_replay(replay_id, "promoted") == replace(late, outcome="rejected by tester", ended=True)
    assert "replay.answered" not in {action for action, _, _ in actions(releasing, by.run_id)}


def test_nobody_answers_a_replay_that_has_ended(releasing: ReleaseTrial) -> None:
    staged = stage(releasing, author())
    releasing.releases.end_replay(staged.replay_id, "failed")
    ended = releasing.releases.note_answer(staged.replay_id, Answer.APPROVED, BY)
    assert ended == replace(staged, outcome="failed", ended=True)
    assert releasing.releases.note_validation(staged.replay_id, {}) == ended


def test_a_standing_tells_what_was_read_and_what_the_log_is_known_to_hold(releasing: ReleaseTrial) -> None:
    job = releasing.names[0]
    with pytest.raises(UnknownVersion):
        releasing.releases.standing(job, 1)
    releasing.registry.stage(version(job), BY, {})
    assert releasing.releases.standing(job, 1) == Standing(START, {}, None, None, 0, 0.0, 0, None)
    releasing.read(job, 1, {0: 9, 1: 3}, {0: 9, 1: 13})
    standing = releasing.releases.standing(job, 1)
    assert (standing.next_offsets, standing.end_offsets) == ({0: 9, 1: 3}, {0: 9, 1: 13})
    assert (standing.read, standing.lag_events) == (7, 10)


def test_a_hand_over_moves_all_jobs_at_once_and_says_so(releasing: ReleaseTrial) -> None:
    serve(releasing)
    by = author()
    replay = candidates(releasing, by)
    releasing.releases.note_validation(replay.replay_id, {"success": True})
    releasing.releases.note_answer(replay.replay_id, Answer.APPROVED, replace(by, actor="approver"))
    for job in releasing.names:
        releasing.read(job, 1, {0: 7, 1: 2})
        releasing.read(job, 2, {0: 7, 1: 3})
    made = releasing.releases.hand_over(plan(releasing), by)
    assert served(releasing) == list(split(releasing.names, 1, 2))
    assert states(releasing) == [[State.PREVIOUS, State.LIVE]] * 2
    assert (made.jobs, made.before, made.after) == (
        releasing.names, whole(releasing.names, 1), split(releasing.names, 1, 2),
    )  # fmt: skip
    assert made.offsets_before == {job: {0: 7, 1: 2} for job in releasing.names}
    assert made.offsets_after == {job: {0: 7, 1: 3} for job in releasing.names}
    assert (made.promoted_by, made.approved_by) == ("tester", "approver")
    assert made.evidence["validation"] == {"success": True}
    assert made.evidence["replay_id"] == str(replay.replay_id)
    assert [releasing.releases.releases(job)[-1] for job in releasing.names] == [made, made]
    assert [a for a in actions(releasing, by.run_id) if a[0] == "release.made"] == [
        ("release.made", job, 2) for job in releasing.names
    ]


def test_a_hand_over_tried_again_by_its_run_is_the_same_release(releasing: ReleaseTrial) -> None:
    serve(releasing)
    by = author()
    candidates(releasing, by)
    planned = plan(releasing, at="2026-01-31T12:00:00Z")
    made = releasing.releases.hand_over(planned, by)
    assert releasing.releases.hand_over(planned, by) == made
    assert served(releasing) == list(split(releasing.names, 1, 2, T))
    releasing.releases.hand_over(back(releasing), author())
    assert releasing.releases.hand_over(planned, by) == made
    assert served(releasing) == list(whole(releasing.names, 1)), "only forward: another run went back meanwhile"


def test_candidates_that_are_behind_are_named_and_nothing_is_changed(releasing: ReleaseTrial) -> None:
    serve(releasing)
    candidates(releasing, author())
    one, other = releasing.names
    releasing.read(other, 1, {0: 9, 1: 4})
    releasing.read(other, 2, {0: 7, 1: 4})
    before = picture(releasing)
    with pytest.raises(NotCaughtUp, match=rf"within 0.5 s: {other} v2 partition 0 by 2 records behind live") as refused:
        releasing.releases.hand_over(plan(releasing), author(), seconds=0.5)
    assert f"{one} v2" not in str(refused.value)
    assert picture(releasing) == before


def test_a_partition_that_the_candidate_never_saw_is_behind(releasing: ReleaseTrial) -> None:
    serve(releasing)
    by, job = author(), releasing.names[0]
    narrow = [replace(version(name, 2), start_offsets={0: 5}) for name in releasing.names]
    releasing.releases.stage_candidates(narrow, attempt(releasing, by), by)
    for name in releasing.names:
        set_caught_up(releasing, name, 2)
    releasing.read(job, 1, {0: 5, 1: 3})
    with pytest.raises(NotCaughtUp, match=f"{job} v2 partition 1 by 3 records"):
        releasing.releases.hand_over(plan(releasing), author(), seconds=0.2)


def test_segments_that_changed_since_the_plan_refuse_the_hand_over(releasing: ReleaseTrial) -> None:
    serve(releasing)
    candidates(releasing, author(), 2)
    candidates(releasing, author(), 3)
    second = plan(releasing, 3)
    releasing.releases.hand_over(plan(releasing, 2), author())
    before = picture(releasing)
    with pytest.raises(SegmentsChanged, match=r"nothing was moved\. Look with './kappa releases', then plan again"):
        releasing.releases.hand_over(second, author())
    assert picture(releasing) == before


@pytest.mark.parametrize("state", [State.STAGED, State.FAILED, State.RETIRED])
def test_a_target_that_cannot_serve_refuses_the_hand_over(releasing: ReleaseTrial, state: State) -> None:
    serve(releasing)
    stage(releasing, author())
    one, other = releasing.names
    set_caught_up(releasing, one, 2)
    releasing.registry.set_state(other, 2, State.STAGED, state)
    before = picture(releasing)
    with pytest.raises(NotFit, match=f"{other} v2 is {state}"):
        releasing.releases.hand_over(plan(releasing), author())
    assert picture(releasing) == before


def test_new_segments_with_a_gap_are_refused(releasing: ReleaseTrial) -> None:
    serve(releasing)
    candidates(releasing, author())
    planned = plan(releasing)
    gap = tuple(replace(s, to_window="2026-01-31T11:59Z") if s.from_window == BEGINNING else s for s in planned.after)
    for after in (gap, planned.after[1:], planned.after[:-1]):
        with pytest.raises(BrokenSegments):
            releasing.releases.hand_over(replace(planned, after=after), author())
    assert served(releasing) == list(planned.before)
    with pytest.raises(ValueError, match="open end"):
        releasing.releases.hand_over(replace(planned, targets=planned.olds), author())


def test_a_live_batch_that_does_not_end_holds_a_hand_over_up_for_so_long_only(releasing: ReleaseTrial) -> None:
    serve(releasing)
    candidates(releasing, author())
    before = picture(releasing)
    with releasing.stuck(releasing.names[1]), pytest.raises(HeldUp, match=r"for 0\.5 s; nothing was moved"):
        releasing.releases.hand_over(plan(releasing), author(), seconds=0.5)
    assert picture(releasing) == before
    releasing.releases.hand_over(plan(releasing), author(), seconds=5)


def test_a_rollback_gives_the_windows_back_and_nobody_is_said_to_have_approved_it(releasing: ReleaseTrial) -> None:
    serve(releasing)
    by = author()
    replay = candidates(releasing, by)
    releasing.releases.note_answer(replay.replay_id, Answer.APPROVED, by)
    forth, job = releasing.releases.hand_over(plan(releasing), by), releasing.names[0]
    assert releasing.releases.previous_since(job, 1) == forth.promoted_at
    assert releasing.releases.previous_since(job, 2) is None
    went_back = releasing.releases.hand_over(back(releasing), author())
    assert served(releasing) == list(whole(releasing.names, 1))
    assert states(releasing) == [[State.LIVE, State.PREVIOUS]] * 2
    assert (forth.approved_by, went_back.approved_by) == ("tester", None)
    assert releasing.releases.previous_since(job, 1) is None
    assert releasing.releases.previous_since(job, 2) == went_back.promoted_at
    again = releasing.releases.hand_over(plan(releasing), author())
    assert (again.after, again.approved_by) == (forth.after, None)
    told = releasing.releases.releases(job)
    assert [release.release_id for release in told[1:]] == [r.release_id for r in (forth, went_back, again)]
    assert told[0].before == ()


def test_a_live_version_that_failed_is_replaced_and_stays_failed(releasing: ReleaseTrial) -> None:
    serve(releasing)
    candidates(releasing, author())
    releasing.registry.give_up(releasing.names[0], 1, "broken")
    releasing.releases.hand_over(plan(releasing), author())
    assert states(releasing) == [[State.FAILED, State.LIVE], [State.PREVIOUS, State.LIVE]]


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
