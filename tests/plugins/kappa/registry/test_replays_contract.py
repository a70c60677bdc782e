"""What Releases promise of replays and standings, asked of the fake and of the ones in Postgres alike, on rig R0."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from kappa.core.replays import Answer, Standing
from kappa.registry.port import StagedByAnother, UnknownVersion
from kappa.registry.releases_port import UnknownReplay
from tests.plugins.registries import BY, CheckError, speaks_against, version
from tests.plugins.release_trials import (
    START,
    ReleaseTrial,
    actions,
    attempt,
    author,
    candidates,
    picture,
    plan,
    serve,
    stage,
)


def test_a_hand_over_that_its_check_speaks_against_moves_nothing(releasing: ReleaseTrial) -> None:
    serve(releasing)
    candidates(releasing, author())
    before = picture(releasing)
    with pytest.raises(CheckError):
        releasing.releases.hand_over(plan(releasing), author(), check=speaks_against)
    assert picture(releasing) == before


def test_candidates_are_staged_together_and_again_changes_nothing(releasing: ReleaseTrial) -> None:
    by = author()
    wanted = attempt(releasing, by)
    versions = [version(job, 2) for job in releasing.names]
    before = releasing.registry.now()
    staged = releasing.releases.stage_candidates(versions, wanted, by)
    assert staged == wanted
    again = releasing.releases.stage_candidates(versions, replace(wanted, replay_id=uuid4()), by)
    assert again == staged
    assert again.begun_at == staged.begun_at
    assert staged.begun_at is not None
    assert before <= staged.begun_at <= releasing.registry.now()
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


def test_a_replay_is_found_by_its_candidates_and_says_when_it_ended(releasing: ReleaseTrial) -> None:
    releases, job = releasing.releases, releasing.names[0]
    first, second = stage(releasing, author(), 2), stage(releasing, author(), 3)
    assert releases.replay_of_versions({job: 2}) == first
    assert releases.replay_of_versions(second.versions) == second
    assert releases.replay_of_versions({**second.versions, job: 2}) is None
    assert releases.replay_ended_at(job, 2) is None
    releases.end_replay(first.replay_id, "thrown away")
    ended_at = releases.replay_ended_at(job, 2)
    assert ended_at is not None
    releases.end_replay(first.replay_id, "again")
    assert releases.replay_ended_at(job, 2) == ended_at
    assert (releases.replay_ended_at(job, 3), releases.replay_ended_at(job, 9)) == (None, None)


def test_a_version_weighs_something_and_speed_is_unknown_until_measured(releasing: ReleaseTrial) -> None:
    stage(releasing, author(), 2)
    releasing.write(releasing.names[0], 2)
    weighed = releasing.releases.weighed(releasing.names[0], 2)
    assert weighed.rows_bytes > 0
    assert weighed.replays_per_s is None
    with pytest.raises(UnknownVersion):
        releasing.releases.weighed(releasing.names[0], 9)


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
    before = releasing.registry.now()
    validated = releases.note_validation(replay_id, {"success": True})
    assert validated.validation == {"success": True}
    assert validated.validated_at is not None
    assert before <= validated.validated_at <= releasing.registry.now()
    releases.note_answer(replay_id, Answer.REJECTED, author())
    late = releases.note_answer(replay_id, Answer.APPROVED, by)
    assert (late.answer, late.answered_by) == ("rejected", "tester")
    kept = releases.note_validation(replay_id, {"success": False})
    assert (kept.validation, kept.validated_at) == ({"success": True}, validated.validated_at)
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
