"""The plan of a deployment: what is there, what is wanted, and whether the one may become the other in
place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jobs.catalog import Job, find
from jobs.catalog import resolve as resolve_settings
from jobs.refusals import Refusal
from kappa import digests
from kappa.artifacts import Code
from kappa.hooks.registry import Segment, Version
from kappa.plans.start_point import StartPoint
from kappa.states import OVER, Desired, State


class Action(StrEnum):
    """What a deployment comes to."""

    FIRST = "first"
    RESUME = "resume"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


STEPS: Mapping[Action, tuple[str, ...]] = {
    Action.FIRST: ("stage", "launch", "ready", "live"),
    Action.RESUME: ("launch", "ready", "live"),
    Action.UNCHANGED: (),
    Action.REFUSED: (),
}


class DeployRefused(Refusal):
    """The plan of a deployment says no."""


@dataclass(frozen=True)
class Wanted:
    """What is asked for: the job with all settings resolved, an artifact, and the topic as it is."""

    job: str
    artifact: str
    settings: Mapping[str, int]
    topic: str
    topic_id: str
    state_digest: str
    result_digest: str


@dataclass(frozen=True)
class Found:
    """What is there: the job's versions and segments, and which versions' drivers run."""

    versions: Sequence[Version]
    segments: Sequence[Segment]
    running: frozenset[int] = frozenset()

    def serves(self, version: Version) -> bool:
        """Whether a segment names the version."""
        return any(segment.version == version.version for segment in self.segments)

    def current(self) -> Version | None:
        """The version that a verb on the job means: the one that serves the open end, else the newest that
        is not over."""
        if self.segments:
            return next(v for v in self.versions if v.version == self.segments[-1].version)
        return next((v for v in reversed(self.versions) if v.state not in OVER), None)

    def next_number(self) -> int:
        """The number of the next version."""
        return max((v.version for v in self.versions), default=0) + 1


@dataclass(frozen=True)
class DeployPlan:
    """What a deployment of one job will do, and why. `replaces` is an unfinished version that never
    served."""

    action: Action
    version: int
    wanted: Wanted
    why: tuple[str, ...]
    start: StartPoint | None = None
    replaces: int | None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps, in order."""
        return (("supersede",) if self.replaces else ()) + STEPS[self.action]

    def rows(self) -> list[tuple[str, str]]:
        """The plan for people."""
        wanted = self.wanted
        settings = " ".join(f"{name}={value}" for name, value in wanted.settings.items())
        return [
            ("job", wanted.job),
            ("version", f"v{self.version}"),
            ("action", self.action),
            ("why", "\n".join(self.why)),
            ("artifact", wanted.artifact),
            ("settings", settings),
            ("topic", f"{wanted.topic} ({wanted.topic_id})"),
            ("starts", self.start.sentence() if self.start else "where its checkpoint stands"),
            ("state digest", wanted.state_digest),
            ("result digest", wanted.result_digest),
            ("steps", " -> ".join(self.steps) or "none"),
        ]

    def to_json(self) -> dict[str, Any]:
        """The plan for machines."""
        return {
            "action": self.action.value,
            "version": self.version,
            "wanted": {**vars(self.wanted), "settings": dict(self.wanted.settings)},
            "why": list(self.why),
            "start": self.start.to_json() if self.start else None,
            "replaces": self.replaces,
            "steps": list(self.steps),
        }

    @classmethod
    def from_json(cls, held: Mapping[str, Any]) -> DeployPlan:
        """The plan that `to_json` wrote."""
        start = StartPoint.from_json(held["start"]) if held["start"] else None
        wanted, why = Wanted(**held["wanted"]), tuple(held["why"])
        return cls(Action(held["action"]), held["version"], wanted, why, start, held["replaces"])


def want(
    job: Job, artifact: str, code: Code, topic: tuple[str, str], given: Mapping[str, int | str], found: Found
) -> Wanted:
    """What is wanted; settings that are not given stay as they are, at first as the catalogue has them.

    `topic` is (name, id). Raises UnknownJobSetting, JobSettingOutOfRange.
    """
    current = found.current()
    names = {setting.name for setting in job.settings}
    kept = {name: value for name, value in (current.settings if current else {}).items() if name in names}
    settings = resolve_settings(job, {**kept, **given})
    state = digests.state_digest(code.state_shape, topic[1])
    result = digests.result_digest(code.result_code, job, settings)
    return Wanted(job.name, artifact, settings, *topic, state, result)


def needs_start(wanted: Wanted, found: Found) -> bool:
    """Whether the deployment makes a version, so that a start point has to be chosen."""
    current = found.current()
    return current is None or _replaceable(wanted, current, found)


def decide(wanted: Wanted, found: Found, start: StartPoint | None) -> DeployPlan:
    """The plan. `start` is there when `needs_start` says so."""
    current = found.current()
    if current is None or _replaceable(wanted, current, found):
        return _first(wanted, found, current, start)
    if differing := _differences(wanted, current):
        return DeployPlan(Action.REFUSED, current.version, wanted, differing)
    if current.state in OVER:
        why = (f"v{current.version} serves, but its driver gave up: it is started again",)
        return DeployPlan(Action.RESUME, current.version, wanted, why)
    if current.desired is Desired.STOPPED or current.version not in found.running:
        was = "is stopped" if current.desired is Desired.STOPPED else "has no running driver"
        return DeployPlan(Action.RESUME, current.version, wanted, (f"v{current.version} {was}",))
    if not found.serves(current):
        why = (f"v{current.version} runs, but its first deployment was not finished",)
        return DeployPlan(Action.RESUME, current.version, wanted, why)
    why = (f"v{current.version} runs this very code with these settings; where it started is fixed",)
    return DeployPlan(Action.UNCHANGED, current.version, wanted, why)


def refuse_if_refused(plan: DeployPlan) -> None:
    """Pass unless the plan says no. Raises DeployRefused."""
    if plan.action is Action.REFUSED:
        raise DeployRefused(
            f"{plan.wanted.job}: {' '.join(plan.why)} Nothing was changed, v{plan.version} is as it was."
        )


def _first(wanted: Wanted, found: Found, current: Version | None, start: StartPoint | None) -> DeployPlan:
    number = found.next_number()
    why = [f"no version of {wanted.job} serves yet"]
    if current:
        why.append(f"v{current.version} was staged with other code or settings and never served: it is given up")
    return DeployPlan(Action.FIRST, number, wanted, tuple(why), start, current.version if current else None)


def _replaceable(wanted: Wanted, current: Version, found: Found) -> bool:
    """An unfinished first deployment of something else stands in nobody's way."""
    unfinished = not found.segments and current.state is State.STAGED
    return unfinished and bool(_differences(wanted, current))


def _differences(wanted: Wanted, current: Version) -> tuple[str, ...]:
    """Why what is wanted cannot take the current version's place; empty when it is the same."""
    pairs = [
        ("state digest", current.state_digest, wanted.state_digest),
        ("result digest", current.result_digest, wanted.result_digest),
    ]
    changed = [f"the {name} was {old} and would be {new}" for name, old, new in pairs if old != new]
    settings = [_setting(name, current.settings.get(name), value) for name, value in wanted.settings.items()
                if current.settings.get(name) != value]  # fmt: skip
    if changed:
        remedy = f"That is a new version, which replays the log: {reprocess_command(wanted, current)}."
        return (f"{_and(changed + settings)}.", remedy)
    if current.artifact != wanted.artifact:
        settings.insert(0, f"the artifact was {current.artifact} and would be {wanted.artifact}")
    if settings:
        keep = f"./kappa start {wanted.job}"
        remedy = f"Both digests are equal, but a change in place is not available yet; {keep} runs it as it is."
        return (f"{_and(settings)}.", remedy)
    return ()


def reprocess_command(wanted: Wanted, current: Version) -> str:
    """The command that makes the wanted thing a new version."""
    effective = {setting.name for setting in find(wanted.job).settings}
    changed = [f" --set {name}={value}" for name, value in wanted.settings.items()
               if name in effective and current.settings.get(name) != value]  # fmt: skip
    return f"./kappa reprocess {wanted.job} --from earliest{''.join(changed)}"


def _setting(name: str, old: int | None, new: int) -> str:
    return f"{name} was {old} and would be {new}"


def _and(parts: list[str]) -> str:
    return ", ".join(parts)
