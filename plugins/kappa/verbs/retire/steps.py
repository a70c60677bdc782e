"""Retire what no segment names and no window, pin or run protects: stop it, give back its rows, checkpoint and code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from kappa.core.audit import Author, Entry
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import JOBS, find
from kappa.core.refusals import Refusal
from kappa.core.replays import Replay
from kappa.core.store.location import Location
from kappa.core.verb_steps import Verb
from kappa.core.versions import OPEN_END, Desired, State, Version
from kappa.platform import Platform
from kappa.registry.port import UnderWay, UnknownVersion
from kappa.registry.releases_port import RowsInUse
from kappa.verbs.drivers.launch import version_of
from kappa.verbs.lease import IsOver, nobody_ended
from kappa.verbs.replay.price import size
from kappa.verbs.retire import old_code
from kappa.verbs.retire.plan import AT_ONCE, Action, Key, RetirePlan, Verdict, Windows, decide_retire
from kappa.verbs.stop.steps import end_driver

VERB = Verb.RETIRE
LEASE_SECONDS = 600.0


class NotRetired(Refusal):
    """The one version that somebody wants retired may not be."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name} is not retired: {why}. Nothing was changed.")


@dataclass(frozen=True)
class Given:
    """What a version gave back, in bytes."""

    rows: int
    checkpoint: int


def windows(settings: Settings) -> Windows:
    """How long versions are kept, as this stack is set."""
    kept = settings.releases
    minutes = (timedelta(minutes=m) for m in (kept.rollback_minutes, kept.state_hours * 60, kept.candidate_minutes))
    return Windows(*minutes)


def plan_retire(platform: Platform, by: Author, only: Key | None = None, is_over: IsOver = nobody_ended) -> RetirePlan:
    """What becomes of each version; of one that is asked for by hand, at once. Changes nothing.

    Raises UnknownJob, UnknownVersion, NotRetired.
    """
    if only is None:
        return _decide(platform, by, windows(platform.settings), is_over)
    job, number = find(only[0]).name, only[1]
    if all(version.version != number for version in platform.registry.versions(job)):
        raise UnknownVersion(job, number)
    verdicts = _decide(platform, by, AT_ONCE, is_over).verdicts
    found = tuple(one for one in verdicts if (one.job, one.version) == (job, number))
    for one in found:
        if one.action is not Action.RETIRE:
            raise NotRetired(one.name, one.why)
    return RetirePlan(found)


def carry_out(platform: Platform, plan: RetirePlan, by: Author, is_over: IsOver = nobody_ended) -> str:
    """Do what the plan says, each version under a lease of its own, then sweep what an earlier run left; the sentence.

    A version that is held, or is in another case by now, is left to the next sweep.
    """
    ended = [f"the replay {one} was ended" for one in _end_orphans(platform, is_over)]
    acts = (*plan.of(Action.STOP), *plan.of(Action.RETIRE))
    done = [_act(platform, verdict, by, is_over) for verdict in acts]
    left = list(_sweep(platform, by))
    code = drop_code(platform)
    kept = len(plan.of(Action.KEEP))
    said = "; ".join([*ended, *done, *left, *code]) or "nothing to retire"
    sentence = f"{said}. {kept} versions are kept." if kept else f"{said}."
    platform.registry.record(Entry(by, f"{VERB}.swept", None, None, {"sentence": sentence, "plan": plan.to_json()}))
    return sentence


def drop_code(platform: Platform) -> list[str]:
    """Remove code that no version needs and that is as old as state is kept; what was removed, in words."""
    return old_code.drop(platform, platform.clock.now() - windows(platform.settings).state)


def free(platform: Platform, job: str, number: int, by: Author) -> Given:
    """End a version for good: no driver, no rows, no checkpoint. Doing it again frees what is left.

    Raises StillServes, Pinned, IllegalTransition: nothing but the driver was stopped; RowsInUse: to be called again.
    """
    end_driver(platform, job, number, by)
    rows = platform.releases.retire(job, number, by).rows_bytes
    folder = _folder(platform, job, number)
    held = folder.size()
    folder.delete()
    if held:
        platform.registry.record(Entry(by, "retire.checkpoint", job, number, {"bytes": held}))
    return Given(rows, held)


def dry_sentence(plan: RetirePlan) -> str:
    """What a dry run found, in one sentence."""
    acts = [f"{v.name} {v.action}" for a in (Action.STOP, Action.RETIRE) for v in plan.of(a)]
    return f"dry run: {', '.join(acts) or 'nothing to retire'}, {len(plan.of(Action.KEEP))} kept; nothing was changed."


def _decide(platform: Platform, by: Author, kept: Windows, is_over: IsOver) -> RetirePlan:
    versions = _versions(platform)
    segments = [segment for job in JOBS for segment in platform.registry.segments(job)]
    ages = {(v.job, v.version): _since(platform, v) for v in versions}
    busy = {key: why for v in versions if (why := _busy(platform, key := (v.job, v.version), by, is_over))}
    return decide_retire(versions, segments, platform.releases.pins(), ages, platform.registry.now(), kept, busy)


def _since(platform: Platform, version: Version) -> datetime | None:
    """Since when a version is of no use, as far as that is known; one that failed may have served after its replay."""
    key = (version.job, version.version)
    failed, ended = platform.releases.failed_since(*key), platform.releases.replay_ended_at(*key)
    if failed is not None:
        return max(failed, ended or failed)
    return platform.releases.previous_since(*key) or ended


def _busy(platform: Platform, key: Key, by: Author, is_over: IsOver) -> str | None:
    """The run, replay or change that a version takes part in, in words."""
    lease = platform.registry.lease(*key)
    if lease is not None and lease.run_id != by.run_id and not is_over(lease):
        return lease.sentence()
    if change := platform.registry.open_change(*key):
        return f"a {change.verb} of it has not ended"
    if any(key in one.versions.items() for one in platform.releases.open_replays()):
        return "its replay has not ended"
    return None


def _end_orphans(platform: Platform, is_over: IsOver) -> list[str]:
    """End replays whose run is over without having ended them: their candidates' time runs from now on."""
    ended = []
    for replay in platform.releases.open_replays():
        if not any(_held(platform, key, is_over) for key in replay.versions.items()):
            platform.releases.end_replay(replay.replay_id, "its run ended before it did")
            ended.append(_name(replay))
    return ended


def _held(platform: Platform, key: Key, is_over: IsOver) -> bool:
    lease = platform.registry.lease(*key)
    return lease is not None and not is_over(lease)


def _name(replay: Replay) -> str:
    return ", ".join(f"{job} v{number}" for job, number in sorted(replay.versions.items()))


def _act(platform: Platform, verdict: Verdict, by: Author, is_over: IsOver) -> str:
    key = (verdict.job, verdict.version)
    held = platform.registry.lease(*key)
    over = held.run_id if held and is_over(held) else None
    try:
        platform.registry.take_lease(VERB, *key, by, LEASE_SECONDS, over)
        return _under_lease(platform, verdict, by, is_over)
    except (UnderWay, RowsInUse) as other:
        return str(other).rstrip(".")
    finally:
        platform.registry.release_leases(by)


def _under_lease(platform: Platform, verdict: Verdict, by: Author, is_over: IsOver) -> str:
    """Only what is still so is done: since the plan the version may have come to serve, and to be previous anew."""
    if why := _busy(platform, (verdict.job, verdict.version), by, is_over):
        return f"{verdict.name} is left: {why}"
    if _serves(platform, verdict) or (verdict.job, verdict.version) in platform.releases.pins():
        return f"{verdict.name} is left: it is in use by now"
    if why := _decided_anew(platform, verdict, by, is_over):
        return f"{verdict.name} is left: {why}"
    if verdict.action is Action.STOP:
        end_driver(platform, verdict.job, verdict.version, by)
        told = {"sentence": verdict.why}
        platform.registry.record(Entry(by, "retire.stopped", verdict.job, verdict.version, told))
        return f"{verdict.name} was stopped ({verdict.why})"
    given = free(platform, verdict.job, verdict.version, by)
    return f"{verdict.name} was retired: {size(given.rows)} of rows and {size(given.checkpoint)} of checkpoint freed"


def _decided_anew(platform: Platform, verdict: Verdict, by: Author, is_over: IsOver) -> str | None:
    """What is to be said of the version now, where that is not the verdict any more. What an earlier try has begun is
    brought to its end."""
    version = version_of(platform, verdict.job, verdict.version)
    if version.state is State.RETIRED or (verdict.action, version.desired) == (Action.STOP, Desired.STOPPED):
        return None
    plans = (_decide(platform, by, kept, is_over) for kept in (windows(platform.settings), AT_ONCE))
    now, at_once = (next(v for v in plan.verdicts if v.name == verdict.name) for plan in plans)
    return None if verdict in (now, at_once) else now.why


def _serves(platform: Platform, verdict: Verdict) -> bool:
    """Whether it serves the live end; to be retired, no segment at all may name it."""
    naming = [s for s in platform.registry.segments(verdict.job) if s.version == verdict.version]
    return any(s.to_window == OPEN_END for s in naming) or (bool(naming) and verdict.action is Action.RETIRE)


def _sweep(platform: Platform, by: Author) -> Iterator[str]:
    """Finish retirements that were cut short."""
    unfreed = platform.releases.unfreed()
    for version in _versions(platform):
        key = (version.job, version.version)
        if version.state is not State.RETIRED or not (key in unfreed or _folder(platform, *key).exists()):
            continue
        try:
            given = free(platform, *key, by)
            yield f"{key[0]} v{key[1]}: another {size(given.rows + given.checkpoint)} freed"
        except RowsInUse as refusal:
            yield str(refusal).rstrip(".")


def _versions(platform: Platform) -> list[Version]:
    return [version for job in JOBS for version in platform.registry.versions(job)]


def _folder(platform: Platform, job: str, number: int) -> Location:
    """The folder of all generations of a version's checkpoint."""
    return platform.settings.checkpoints(job, number)
