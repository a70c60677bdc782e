"""The steps of a replay: hold, stage, validate, abandon or throw away, conclude; catching up is in `catch_up`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from kappa.core.audit import Author, Entry
from kappa.core.refusals import Refusal
from kappa.core.replays import Answer, Replay
from kappa.core.verb_steps import ReplayStep, Verb
from kappa.core.versions import OVER
from kappa.platform import Platform
from kappa.registry.releases_port import RowsInUse
from kappa.verbs import lease
from kappa.verbs.drivers.launch import version_of
from kappa.verbs.promote.hand_over import release_of
from kappa.verbs.promote.steps import promoted_and_sized, promoted_sentence
from kappa.verbs.replay import catch_up
from kappa.verbs.replay.approval_text import offending, report_file, verdict
from kappa.verbs.replay.approvers import answer_sentence, names
from kappa.verbs.replay.catch_up import Pursuit
from kappa.verbs.replay.plan import ReprocessPlan
from kappa.verbs.replay.progress import Progress
from kappa.verbs.replay.validation import SECONDS, Runner, validate
from kappa.verbs.retire.plan import NEVER_SERVED
from kappa.verbs.retire.steps import free
from kappa.verbs.stop.steps import end_driver

VERB, PROVE = Verb.REPROCESS, Verb.PROVE


class ReplayOver(Refusal):
    """A step of a replay that has ended was to be done."""

    def __init__(self, replay: Replay) -> None:
        super().__init__(
            f"the replay of {names(replay)} has ended: {replay.outcome}. Nothing was changed. Replay again: "
            f"./kappa reprocess {' '.join(sorted(replay.versions))}."
        )


class NotValid(Refusal):
    """The validation speaks against the candidates, or did not come to an end."""

    def __init__(self, replay: Replay, said: str) -> None:
        found = replay.validation or {}
        none = f"It made no report; what it left, below the store: {found.get('folder', '')}"
        where = none if found.get("crashed") else f"The report, below the store: {report_file(found)}"
        super().__init__(
            f"{names(replay)} did not pass the validation: {said}. Nothing was promoted, the live versions serve on; "
            f"the candidates are stopped. {where}."
        )


@dataclass(frozen=True)
class Concluded:
    """How a replay ended, in a sentence, and the versions that serve since, by job."""

    sentence: str
    promoted: Mapping[str, int]


def recall(platform: Platform, verb: str, by: Author) -> ReprocessPlan | None:
    """The plan that this run staged, if it staged one: candidates are planned once only."""
    replay = platform.releases.replay_of_run(by.run_id)
    entries = platform.registry.entries(by.run_id) if replay else ()
    plans = [ReprocessPlan.from_json(e.evidence["plan"]) for e in entries if e.action == f"{verb}.planned"]
    return next(
        (p for p in plans if replay and {c.job: c.version for c in p.candidates} == dict(replay.versions)), None
    )


def candidates(platform: Platform, plan: ReprocessPlan, by: Author) -> Mapping[str, int]:
    """What this run has staged; before that, what it is to stage."""
    replay = platform.releases.replay_of_run(by.run_id)
    return replay.versions if replay else {c.job: c.version for c in plan.candidates}


def stage(platform: Platform, verb: str, plan: ReprocessPlan, by: Author) -> Replay:
    """Make all candidates and the replay, or none. Raises StagedByAnother, NotHolder, ReplayOver."""
    lease.check_all(platform, candidates(platform, plan, by), by)
    if platform.releases.replay_of_run(by.run_id) is not None:
        return open_of_run(platform, by) or of_run(platform, by)
    platform.registry.record(Entry(by, f"{verb}.planned", evidence={"plan": plan.to_json()}))
    return platform.releases.stage_candidates(plan.staged(), plan.replay(uuid4(), by.run_id, by.actor), by)


def of_run(platform: Platform, by: Author) -> Replay:
    """The replay of this run, also when it has ended. Raises LookupError."""
    replay = platform.releases.replay_of_run(by.run_id)
    if replay is None:
        raise LookupError(f"run {by.run_id} has staged no replay")
    return replay


def open_of_run(platform: Platform, by: Author) -> Replay | None:
    """The replay of this run, which goes on; None where it came to its end, so that nothing is left to do.

    Raises LookupError, ReplayOver: it was given up, and what it left running is stopped.
    """
    replay = of_run(platform, by)
    if not replay.ended:
        return replay
    if _came_to_its_end(platform, replay):
        return None
    _stop(platform, replay, by)
    raise ReplayOver(replay)


def _came_to_its_end(platform: Platform, replay: Replay) -> bool:
    """Whether it was promoted, was answered, or showed what it was to show."""
    if release_of(platform, replay) is not None or replay.answer in (Answer.REJECTED, Answer.TIMED_OUT):
        return True
    return not replay.promote and bool((replay.validation or {}).get("success"))


def pursue(platform: Platform, verb: str, by: Author) -> Pursuit | None:
    """Start the candidates, which then catch up; None where that is over. Raises NeverReady, which ends the replay,
    ReplayOver, NotHolder."""
    replay = open_of_run(platform, by)
    if replay is None:
        return None
    each = int(replay.price["records"]) // max(len(replay.versions), 1)
    with _ending(platform, verb, replay, by):
        return catch_up.launch(platform, verb, replay.versions, each, float(replay.price["eta_seconds"]), by)


def reached(platform: Platform, verb: str, progress: Progress, by: Author) -> None:
    """Take the end of the catch-up. Raises NeverReady, which ends the replay, ReplayOver, NotHolder."""
    replay = open_of_run(platform, by)
    if replay is None:
        return
    with _ending(platform, verb, replay, by):
        catch_up.caught_up(platform, verb, replay.versions, progress, by)


@contextmanager
def _ending(platform: Platform, verb: str, replay: Replay, by: Author) -> Iterator[None]:
    try:
        yield
    except catch_up.NeverReady as refusal:
        abandon(platform, verb, replay, str(refusal), by)
        raise


def check(platform: Platform, verb: str, by: Author, seconds: float = SECONDS, run: Runner | None = None) -> Replay:
    """Validate the candidates and keep what was found; what does not pass ends the replay.

    Raises NotValid, ReplayOver, NotHolder, and as `validate`.
    """
    replay = open_of_run(platform, by)
    if replay is None or replay.answer is not None:
        return replay or of_run(platform, by)
    lease.check_all(platform, replay.versions, by)
    outcome = dict(validate(platform, replay, platform.releases.standing, seconds, run))
    noted = platform.releases.note_validation(replay.replay_id, outcome)
    said = verdict(outcome)
    evidence = {"success": outcome["success"], "sentence": said, "folder": outcome.get("folder")}
    _record(platform, ReplayStep.VALIDATE.action(verb), noted, evidence, by)
    if not outcome["success"]:
        _refute(platform, verb, noted, said, by)
        raise NotValid(noted, said)
    return noted


def abandon(platform: Platform, verb: str, replay: Replay, why: str, by: Author) -> None:
    """End the replay and stop its candidates; they are retired once their time is over."""
    ended = platform.releases.end_replay(replay.replay_id, why)
    _stop(platform, ended, by)
    _record(platform, f"{verb}.abandoned", ended, {"sentence": ended.outcome}, by)


def conclude(platform: Platform, verb: str, by: Author) -> Concluded:
    """End the replay by what became of it, and say that. Raises LookupError."""
    replay = of_run(platform, by)
    done = _conclude(platform, verb, replay, by)
    told = {"sentence": done.sentence, "replay_id": str(replay.replay_id), "answer": replay.answer}
    _record(platform, f"{verb}.done", replay, told, by)
    return done


def dry_sentence(plan: ReprocessPlan) -> str:
    """What a dry run found, in one sentence."""
    made = ", ".join(f"{c.job} v{c.version}" for c in plan.candidates)
    price = ", ".join(f"{name} {value}" for name, value in plan.price.rows()[:3])
    return f"dry run: {made} would be replayed ({price}; {' -> '.join(plan.steps)}); nothing was changed."


def _conclude(platform: Platform, verb: str, replay: Replay, by: Author) -> Concluded:
    release = release_of(platform, replay)
    if release is not None:
        platform.releases.end_replay(replay.replay_id, promoted_sentence(release))
        return Concluded(promoted_and_sized(platform, release), dict(replay.versions))
    if replay.answer in (Answer.REJECTED, Answer.TIMED_OUT):
        said = f"{names(replay)}: {answer_sentence(Answer(replay.answer), replay.answered_by)}"
        platform.releases.end_replay(replay.replay_id, said)
        return Concluded(f"{said}; nothing was promoted, the live versions serve on.", {})
    if replay.promote:
        raise ReplayOver(platform.releases.end_replay(replay.replay_id, "it was not promoted"))
    return Concluded(_throw_away(platform, replay, by), {})


def _throw_away(platform: Platform, replay: Replay, by: Author) -> str:
    """The end of a proof: say what it showed, then retire its candidates; rows in use go with the next sweep."""
    read = sum(platform.releases.standing(job, number).read for job, number in replay.versions.items())
    compared = (replay.validation or {}).get("compared_rows", 0)
    said = f"live equals replay over {read:,} records: {names(replay)}, {compared:,} rows compared, none differs"
    ended = platform.releases.end_replay(replay.replay_id, said)
    for job, number in sorted(replay.versions.items()):
        try:
            free(platform, job, number, by)
        except RowsInUse as refusal:
            _record(platform, "retire.left", replay, {"sentence": str(refusal)}, by)
    return f"{ended.outcome}; the candidates were thrown away."


def _refute(platform: Platform, verb: str, replay: Replay, said: str, by: Author) -> None:
    """The end of a replay that did not pass. Of a proof the candidates fail, too: that is a red line in the status."""
    abandon(platform, verb, replay, f"not valid: {said}", by)
    if replay.promote:
        return
    for job, number in sorted(replay.versions.items()):
        if version_of(platform, job, number).state not in OVER:
            platform.registry.give_up(job, number, f"live v{replay.live[job]} does not equal its replay: {said}")
    rows = {"sentence": said, "rows": offending(replay.validation or {})}
    _record(platform, f"{verb}.refuted", replay, rows, by)


def _stop(platform: Platform, replay: Replay, by: Author) -> None:
    """End the drivers of candidates; of one that has served, the retirement decides."""
    for job, number in sorted(replay.versions.items()):
        if version_of(platform, job, number).state in NEVER_SERVED | OVER:
            end_driver(platform, job, number, by)


def _record(platform: Platform, action: str, replay: Replay, evidence: Mapping[str, Any], by: Author) -> None:
    for job, number in sorted(replay.versions.items()):
        platform.registry.record(Entry(by, action, job, number, evidence))
