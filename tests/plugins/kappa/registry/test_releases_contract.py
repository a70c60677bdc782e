"""What Releases promise of the hand-over, asked of the fake and of the ones in Postgres alike, on rig R0."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kappa.core.audit import Author
from kappa.core.replays import Answer
from kappa.core.versions import BEGINNING, State
from kappa.registry.port import UnknownVersion
from kappa.registry.releases_port import BrokenSegments, HeldUp, NotCaughtUp, NotFit, SegmentsChanged
from tests.plugins.registries import version
from tests.plugins.release_trials import (
    ReleaseTrial,
    T,
    actions,
    attempt,
    author,
    back,
    candidates,
    picture,
    plan,
    serve,
    served,
    set_caught_up,
    split,
    stage,
    states,
    whole,
)


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
    assert made.jobs == releasing.names
    assert (made.before, made.after) == (whole(releasing.names, 1), split(releasing.names, 1, 2))
    assert made.offsets_before == {job: {0: 7, 1: 2} for job in releasing.names}
    assert made.offsets_after == {job: {0: 7, 1: 3} for job in releasing.names}
    assert (made.promoted_by, made.approved_by) == ("tester", "approver")
    assert (made.evidence["validation"], made.evidence["replay_id"]) == ({"success": True}, str(replay.replay_id))
    assert [releasing.releases.releases(job)[-1] for job in releasing.names] == [made, made]
    told = [("release.made", job, 2) for job in releasing.names]
    assert [a for a in actions(releasing, by.run_id) if a[0] == "release.made"] == told


def test_a_hand_over_tried_again_by_its_run_is_the_same_release(releasing: ReleaseTrial) -> None:
    serve(releasing)
    by = author()
    candidates(releasing, by)
    planned = plan(releasing, at="2026-01-31T12:00:00Z")
    made = releasing.releases.hand_over(planned, by)
    assert releasing.releases.hand_over(planned, by) == made
    assert served(releasing) == list(split(releasing.names, 1, 2, T))
    anew = replace(planned, before=tuple(made.after), olds=planned.targets)
    assert releasing.releases.hand_over(anew, by) == made
    with pytest.raises(NotFit, match="v2 is LIVE"):
        releasing.releases.hand_over(anew, author())
    releasing.releases.hand_over(back(releasing), author())
    assert releasing.releases.hand_over(planned, by) == made
    assert served(releasing) == list(whole(releasing.names, 1)), "only forward: another run went back meanwhile"


def test_a_run_that_goes_back_on_its_own_release_makes_another(releasing: ReleaseTrial) -> None:
    serve(releasing)
    by = author()
    candidates(releasing, by)
    forth = releasing.releases.hand_over(plan(releasing), by)
    went_back = releasing.releases.hand_over(back(releasing), by)
    assert went_back.release_id > forth.release_id
    assert served(releasing) == list(whole(releasing.names, 1))


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


@pytest.mark.parametrize("answer", [Answer.TIMED_OUT, None])
def test_who_promotes_by_hand_what_nobody_answered_has_approved_it(
    releasing: ReleaseTrial, answer: Answer | None
) -> None:
    serve(releasing)
    replay = candidates(releasing, author())
    if answer is not None:
        releasing.releases.note_answer(replay.replay_id, answer, Author("nobody", replay.run_id))
    releasing.releases.end_replay(replay.replay_id, "timed out")
    made = releasing.releases.hand_over(plan(releasing), replace(author(), actor="by hand"))
    assert (made.promoted_by, made.approved_by) == ("by hand", "by hand")
    back_again = releasing.releases.hand_over(back(releasing), author())
    assert back_again.approved_by is None


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
    assert releasing.registry.revive(releasing.names[0], 1) is State.FAILED
    assert states(releasing) == [[State.FAILED, State.LIVE], [State.PREVIOUS, State.LIVE]]


def test_a_version_that_gave_up_is_previous_again_only_where_a_release_replaced_it(releasing: ReleaseTrial) -> None:
    serve(releasing)
    candidates(releasing, author())
    registry, job = releasing.registry, releasing.names[0]
    for number in (1, 2):
        registry.give_up(job, number, "broken")
    assert [registry.revive_previous(job, n) for n in (1, 2)] == [State.FAILED] * 2, "one serves, one never did"
    registry.set_state(job, 2, State.FAILED, State.CAUGHT_UP)
    made = releasing.releases.hand_over(plan(releasing), author())
    assert [registry.revive_previous(job, n) for n in (1, 2)] == [State.PREVIOUS, State.LIVE]
    assert releasing.releases.previous_since(job, 1) == made.promoted_at
    assert registry.red_lines(job, 1) == ["failed: broken"]
    releasing.releases.hand_over(back(releasing), author())
    assert states(releasing)[0] == [State.LIVE, State.PREVIOUS]
    with pytest.raises(UnknownVersion):
        registry.revive_previous(job, 3)


def test_of_a_failed_version_it_is_known_since_when_it_is_one_that_serves_nothing_new(releasing: ReleaseTrial) -> None:
    serve(releasing)
    candidates(releasing, author())
    job, releases, before = releasing.names[0], releasing.releases, releasing.registry.now()
    assert releases.failed_since(job, 1) is None
    releasing.registry.give_up(job, 1, "broken")
    failed = releases.failed_since(job, 1)
    assert failed is not None
    assert before <= failed <= releasing.registry.now()
    made = releases.hand_over(plan(releasing), author())
    assert states(releasing)[0] == [State.FAILED, State.LIVE]
    assert (releases.failed_since(job, 1), releases.previous_since(job, 1)) == (made.promoted_at, None)
    releasing.registry.give_up(job, 2, "broken")
    assert made.promoted_at <= (releases.failed_since(job, 2) or before)
    assert releases.failed_since(job, 9) is None


def test_segments_are_the_same_where_the_session_has_a_time_zone_of_its_own(
    releasing: ReleaseTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A managed Postgres may have any; libpq asks for that of PGTZ, which is stronger than a connection's options."""
    monkeypatch.setenv("PGTZ", "Europe/Berlin")
    serve(releasing)
    for number in (2, 3):
        candidates(releasing, author(), number)
    releasing.releases.hand_over(plan(releasing), author())
    releasing.releases.hand_over(plan(releasing, 3, 2), author())
    assert served(releasing) == list(split(releasing.names, 2, 3))
    releasing.releases.hand_over(replace(plan(releasing, 2, 3), after=whole(releasing.names, 2)), author())
    assert served(releasing) == list(whole(releasing.names, 2))
