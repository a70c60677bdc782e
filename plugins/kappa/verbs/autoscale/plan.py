"""The plan of an autoscaling: which advice the policy lets be carried out now, and why the rest is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from kappa.core.advice.size import Advice, Size
from kappa.core.installation.autoscaling import Autoscaling
from kappa.core.job_catalog import EXECUTOR_CORES, EXECUTORS, STATE_PARTITIONS
from kappa.core.serialization import Serializable

OFF = "the policy is off ([autoscaling] enabled in kappa.toml): nothing was looked at, and nothing was changed"


@dataclass(frozen=True)
class Decision(Serializable):
    """What becomes of one advice, and which rule decided that. Where it is `applied`, `advice.wanted` is what the
    policy's bounds left of it."""

    advice: Advice
    applied: bool
    why: str

    @property
    def sentence(self) -> str:
        """The decision for people."""
        return f"{self.advice.job} v{self.advice.version}: {self.why}; {self.advice.sentence}"


@dataclass(frozen=True)
class AutoscalePlan(Serializable):
    """What an autoscaling of all jobs does; with the policy off there are no decisions."""

    enabled: bool
    decisions: tuple[Decision, ...] = field(default_factory=tuple)

    @property
    def applied(self) -> tuple[Decision, ...]:
        """The decisions that a rescale is asked for by."""
        return tuple(each for each in self.decisions if each.applied)

    def rows(self) -> list[tuple[str, str]]:
        """The plan for people."""
        return [("policy", "on" if self.enabled else OFF)] + [("job", each.sentence) for each in self.decisions]

    def sentence(self) -> str:
        """What is done, in one sentence."""
        if not self.enabled:
            return f"{OFF}."
        asked = "; ".join(f"{each.advice.command} ({each.sentence})" for each in self.applied)
        return f"asked for: {asked}." if asked else "no job is rescaled: " + "; ".join(
            f"{each.advice.job}: {each.why}" for each in self.decisions
        )  # fmt: skip


def decide_autoscale(
    told: Sequence[Advice], policy: Autoscaling, asked: Mapping[str, datetime], now: datetime
) -> AutoscalePlan:
    """The plan over all advice; `asked` is when each job was last asked to be rescaled so."""
    if not policy.enabled:
        return AutoscalePlan(enabled=False)
    return AutoscalePlan(True, tuple(_one_grows(_decide(each, policy, asked.get(each.job), now) for each in told)))


def _one_grows(decisions: Iterable[Decision]) -> Iterator[Decision]:
    """The decisions, of which one at most lets a job grow: each was advised all that is free. The next look takes the
    others, with new numbers."""
    first = ""
    for one in decisions:
        grows = one.applied and one.advice.size is Size.MORE
        yield Decision(one.advice, False, f"{first} grows first, by what is free") if grows and first else one
        first = first or (one.advice.job if grows else "")


def _decide(advice: Advice, policy: Autoscaling, asked: datetime | None, now: datetime) -> Decision:
    if not advice.form:
        why = "nothing is advised" if advice.size is Size.NONE else "no rescale would help"
        return Decision(advice, False, why)
    if not policy.is_open(now):
        return Decision(advice, False, f"it is {now:%H:%M} UTC, and the policy's hours are {policy.hours}")
    if asked is not None and now - asked < timedelta(minutes=policy.cool_down_minutes):
        why = f"it was rescaled so at {asked:%Y-%m-%dT%H:%MZ}, within the cool-down of {policy.cool_down_minutes} min"
        return Decision(advice, False, why)
    left = within(advice, policy)
    if left.keys() <= {STATE_PARTITIONS}:
        return Decision(advice, False, f"{advice.command} is outside of the policy's bounds")
    return Decision(replace(advice, wanted=left), True, "within the policy")


def within(advice: Advice, policy: Autoscaling) -> dict[str, int]:
    """What the bounds leave of the advised settings: a number that they cut down to the present one, or past it, is
    left out. So what somebody made larger than the bounds is not made smaller because more was advised."""
    bounds = {
        EXECUTOR_CORES: (policy.least_cores, policy.most_cores),
        EXECUTORS: (policy.least_executors, policy.most_executors),
        STATE_PARTITIONS: (1, policy.most_partitions),
    }
    grows, left = advice.size is Size.MORE, {}
    for name, value in advice.wanted.items():
        least, most = bounds[name]
        bounded, present = min(max(value, least), most), advice.numbers[name]
        if bounded > present if grows else bounded < present:
            left[name] = bounded
    return left
