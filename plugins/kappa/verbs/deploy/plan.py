"""The plan of a deployment: what is there, what is wanted, and whether the one may become the other in
place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kappa.code.differences import (
    UNKNOWN,
    Compared,
    Difference,
    Parts,
    differing_settings,
    forbidden,
    repartitioned,
    table,
    tuned,
)
from kappa.core.changes import RunsAs
from kappa.core.job_catalog import STATE_PARTITIONS, Effect, find
from kappa.core.refusals import Refusal
from kappa.core.serialization import Serializable
from kappa.core.verb_steps import DeployStep
from kappa.core.versions import OVER, Desired, State, Version
from kappa.verbs.desired import Found, Wanted
from kappa.verbs.equal_settings import NOBODY, Serving, sharing
from kappa.verbs.start_point import StartPoint


class Action(StrEnum):
    """What a deployment comes to."""

    FIRST = "first"
    RESUME = "resume"
    IN_PLACE = "in_place"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


FIRST = (DeployStep.STAGE, DeployStep.LAUNCH, DeployStep.READY, DeployStep.LIVE)
STEPS: Mapping[Action, tuple[DeployStep, ...]] = {
    Action.FIRST: FIRST,
    Action.RESUME: FIRST[1:],
    Action.IN_PLACE: tuple(step for step in DeployStep if step not in FIRST),
    Action.UNCHANGED: (),
    Action.REFUSED: (),
}


class DeployRefused(Refusal):
    """The plan of a deployment says no."""


@dataclass(frozen=True)
class DeployPlan(Serializable):
    """What a deployment of one job will do, and why. `replaces` is an unfinished version that never served.

    `differences` are those that a change in place makes, or for which it is refused; `old` and `new` are what the
    version runs as before and after a change in place; `environment` what the wanted artifact was built with.
    """

    action: Action
    version: int
    wanted: Wanted
    why: tuple[str, ...]
    start: StartPoint | None = None
    replaces: int | None = None
    differences: tuple[Difference, ...] = ()
    old: RunsAs | None = None
    new: RunsAs | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def steps(self) -> tuple[DeployStep, ...]:
        """The steps, in order."""
        return STEPS[self.action]

    @property
    def leased(self) -> tuple[int, ...]:
        """The versions of which the run may hold the lease: the planned one or, until that is made, the one that it
        replaces, which was the job's current one."""
        return (self.version,) if self.replaces is None else (self.version, self.replaces)

    def rows(self) -> list[tuple[str, str]]:
        """The plan for people."""
        wanted = self.wanted
        given = " ".join(f"{name}={value}" for name, value in wanted.settings.items())
        return [
            ("job", wanted.job),
            ("version", f"v{self.version}"),
            ("action", self.action),
            ("why", "\n".join(self.why)),
            *([("differs", table(self.differences))] if self.differences else []),
            ("artifact", wanted.artifact),
            ("environment", built_with(self.environment)),
            ("settings", given),
            ("topic", f"{wanted.topic} ({wanted.topic_id})"),
            ("starts", self.start.sentence() if self.start else "where its checkpoint stands"),
            ("state digest", wanted.state_digest),
            ("result digest", wanted.result_digest),
            ("steps", " -> ".join(self.steps) or "none"),
        ]

    def to_json(self) -> dict[str, Any]:
        """The plan for machines, with its steps."""
        return super().to_json() | {"steps": list(self.steps)}


def built_with(environment: Mapping[str, str]) -> str:
    """What an artifact was built with, in words."""
    if not environment:
        return "unknown: the artifact was built before artifacts named it, so its drivers start whatever is installed"
    return ", ".join(f"{name} {version}" for name, version in environment.items())


def needs_start(wanted: Wanted, found: Found) -> bool:
    """Whether the deployment makes a version, so that a start point has to be chosen."""
    current = found.current()
    return current is None or _replaceable(wanted, current, found)


def decide(
    wanted: Wanted, found: Found, start: StartPoint | None, parts: Parts = UNKNOWN, beside: Serving = NOBODY
) -> DeployPlan:
    """The plan. `start` is there when `needs_start` says so; `parts` name what the code on both sides is made of;
    `beside` are the other jobs' versions."""
    current = found.current()
    if current is None or _replaceable(wanted, current, found):
        return _first(wanted, found, current, start)
    job = find(wanted.job)
    if differing := forbidden(job, current, wanted, parts):
        tuning = differing_settings(job, current, wanted, Effect.TUNING)
        return _refused(wanted, current, differing + tuning, _replay(wanted, current, beside))
    if differing := repartitioned(job, current, wanted):
        return _refused(wanted, current, differing + tuned(job, current, wanted), _rescale(wanted))
    if differing := tuned(job, current, wanted):
        return _in_place(wanted, found, current, differing)
    return _as_it_is(wanted, found, current)


def refuse_if_refused(plan: DeployPlan) -> None:
    """Pass unless the plan says no. Raises DeployRefused."""
    if plan.action is Action.REFUSED:
        raise DeployRefused(
            f"{plan.wanted.job}: {plan.why[0]}\n{table(plan.differences)}\n{plan.why[1]} "
            f"Nothing was changed, v{plan.version} is as it was."
        )


def _refused(wanted: Wanted, current: Version, differing: tuple[Difference, ...], why: tuple[str, str]) -> DeployPlan:
    return DeployPlan(Action.REFUSED, current.version, wanted, why, differences=differing)


def _replay(wanted: Wanted, current: Version, beside: Serving) -> tuple[str, str]:
    pairs = [
        ("state digest", current.state_digest, wanted.state_digest),
        ("result digest", current.result_digest, wanted.result_digest),
    ]
    changed = [f"the {name} was {old} and would be {new}" for name, old, new in pairs if old != new]
    remedy = f"That is a new version, which replays the log: {reprocess_command(wanted, current, beside)}."
    return (f"{', '.join(changed)}.", remedy)


def _rescale(wanted: Wanted) -> tuple[str, str]:
    command = f"./kappa rescale {wanted.job} --partitions {wanted.settings[STATE_PARTITIONS]}"
    return ("a deployment keeps the number of state partitions.", f"Change it by {command}, and deploy the rest.")


def _in_place(wanted: Wanted, found: Found, current: Version, differing: tuple[Difference, ...]) -> DeployPlan:
    old = RunsAs(current.artifact, current.settings, current.generation)
    new = RunsAs(wanted.artifact, wanted.settings, current.generation)
    why = ("both digests are equal: it changes in place, on the same checkpoint", _meanwhile(found, current))
    return DeployPlan(Action.IN_PLACE, current.version, wanted, why, None, None, differing, old, new)


def _meanwhile(found: Found, current: Version) -> str:
    """What becomes of the driver that is there, or why there is none."""
    if current.state in OVER:
        return f"v{current.version} gave up: it runs afterwards"
    if current.desired is Desired.STOPPED:
        return f"v{current.version} is stopped: it runs afterwards, for a deployment means running"
    if current.version not in found.running:
        return f"v{current.version} has no running driver: it runs afterwards"
    return f"v{current.version} runs on until the trial start has succeeded, and finishes its batch with its own code"


def _as_it_is(wanted: Wanted, found: Found, current: Version) -> DeployPlan:
    """Nothing differs: the version runs, or is started again."""
    name = f"v{current.version}"
    why = None
    if current.state in OVER:
        why = f"{name} serves, but its driver gave up: it is started again"
    elif current.desired is Desired.STOPPED:
        why = f"{name} is stopped"
    elif current.version not in found.running:
        why = f"{name} has no running driver"
    elif not found.serves(current):
        why = f"{name} runs, but its first deployment was not finished"
    if why:
        return DeployPlan(Action.RESUME, current.version, wanted, (why,))
    same = f"{name} runs this very code with these settings; where it started is fixed"
    return DeployPlan(Action.UNCHANGED, current.version, wanted, (same,))


def _first(wanted: Wanted, found: Found, current: Version | None, start: StartPoint | None) -> DeployPlan:
    number = found.next_number()
    why = [f"no version of {wanted.job} serves yet"]
    if current:
        why.append(f"v{current.version} was staged with other code or settings and never served: it is given up")
    return DeployPlan(Action.FIRST, number, wanted, tuple(why), start, current.version if current else None)


def _replaceable(wanted: Wanted, current: Version, found: Found) -> bool:
    """An unfinished first deployment of something else stands in nobody's way."""
    unfinished = not found.segments and current.state is State.STAGED
    return unfinished and _as_digests(wanted) != _as_digests(current)


def _as_digests(side: Compared) -> tuple[object, ...]:
    return (side.state_digest, side.result_digest, side.artifact, dict(side.settings))


def reprocess_command(wanted: Wanted, current: Version, beside: Serving = NOBODY) -> str:
    """The command that makes the wanted thing a new version: with the artifact and the settings that differ from the
    current version's; of the settings only those that change results, and then of all jobs that have them."""
    asked = {d.what: d.new for d in differing_settings(find(wanted.job), current, wanted, Effect.RESULT)}
    given, jobs = "".join(f" --set {name}={value}" for name, value in asked.items()), sharing(asked, wanted.job, beside)
    artifact = f" --artifact {wanted.artifact}" if wanted.artifact != current.artifact else ""
    return f"./kappa reprocess {' '.join(jobs)} --from earliest{given}{artifact}"
