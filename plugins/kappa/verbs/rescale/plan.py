"""The plan of a rescale: present and wanted numbers, what the state weighs, and which of it is a restart only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from kappa.cluster import Capacity
from kappa.core.changes import RunsAs
from kappa.core.job_catalog import EXECUTOR_CORES, EXECUTORS, STATE_PARTITIONS, Job, find, resolve
from kappa.core.requests.lifecycle import RescaleRequest
from kappa.core.serialization import Serializable
from kappa.core.verb_steps import RescaleStep
from kappa.core.versions import Desired, Version
from kappa.verbs.desired import Found
from kappa.verbs.drivers.size import NOTHING, check_fits, size_of
from kappa.verbs.rescale.conditions import StateFacts, check_state, rescalable

RESTART_SECONDS = 30.0
"""What a plain restart takes up to the first commit, at most, on two cores."""
REPARTITION_SECONDS = 5.0
"""What drain, copy, proof and repartition take of a state that is all but empty."""
ROWS_PER_SECOND = 100_000
"""Rows that are repartitioned a second; 2,000,000 rows were seen to take 14 s on two cores."""


class Action(StrEnum):
    """What a rescale comes to."""

    UNCHANGED = "unchanged"
    RESTART = "restart"
    REPARTITION = "repartition"


@dataclass(frozen=True)
class RescalePlan(Serializable):
    """What a rescale of one job will do, and why.

    `free_cores` and `free_memory_mb` are what the version may use: free on the cluster, which has `cluster` in all, or
    held by its own driver and executors. `desired` is what the operator wants of the version, before and after: what is
    stopped stays stopped.
    """

    job: str
    version: int
    action: Action
    old: RunsAs
    new: RunsAs
    state: StateFacts | None
    free_cores: int
    free_memory_mb: int
    cluster: str
    expected_pause_seconds: float
    why: tuple[str, ...]
    desired: Desired = Desired.RUNNING

    @property
    def steps(self) -> tuple[RescaleStep, ...]:
        """The steps, in order: nothing is repartitioned where the state stays, and what is stopped is not started."""
        if self.action is Action.UNCHANGED:
            return ()
        left_out = set() if self.action is Action.REPARTITION else {RescaleStep.REPARTITION}
        if self.desired is Desired.STOPPED:
            left_out |= {RescaleStep.STANDBY, RescaleStep.LAUNCH, RescaleStep.READY}
        return tuple(step for step in RescaleStep if step not in left_out)

    def rows(self) -> list[tuple[str, str]]:
        """The plan for people."""
        return [
            ("job", self.job),
            ("version", f"v{self.version}"),
            ("action", self.action),
            ("why", "\n".join(self.why)),
            ("state partitions", self._from_to(STATE_PARTITIONS)),
            ("executors", self._from_to(EXECUTORS)),
            ("executor cores", self._from_to(EXECUTOR_CORES)),
            ("takes", f"{size_of(self.old.settings).sentence()} -> {size_of(self.new.settings).sentence()}"),
            ("cluster", f"{self.cluster}; {self.free_cores} cores and {self.free_memory_mb:,} MB are free for it"),
            ("generation", f"g{self.old.generation} -> g{self.new.generation}"),
            ("state", state_sentence(self.state)),
            ("expected pause", f"{self.expected_pause_seconds:.0f} s"),
            ("steps", " -> ".join(self.steps) or "none"),
        ]

    def _from_to(self, name: str) -> str:
        if name not in self.old.settings:
            return "none: the job is stateless"
        return f"{self.old.settings[name]} -> {self.new.settings[name]}"

    def to_json(self) -> dict[str, Any]:
        """The plan for machines, with its steps."""
        return super().to_json() | {"steps": list(self.steps)}


def decide_rescale(
    request: RescaleRequest, found: Found, state: StateFacts | None, capacity: Capacity, next_generation: int
) -> RescalePlan:
    """The plan of a rescale of the job's current version.

    `state` is None where there is no checkpoint with state; `capacity` is the cluster's as it is, with what the
    version holds itself; `next_generation` is a number that no checkpoint of the version has had.
    Raises UnknownJob, NothingAsked, NothingDeployed, VersionFailed, NotServing, StatelessJob, JobSettingOutOfRange,
    CountsDisagree, NothingToRepartition, UnsupportedProvider, UnsupportedOperator, DoesNotFit.
    """
    job = find(request.job)
    current = rescalable(job, request.numbers, found)
    old = RunsAs(current.artifact, current.settings, current.generation)
    wanted = _wanted(job, request, current)
    moves = wanted.get(STATE_PARTITIONS) != current.settings.get(STATE_PARTITIONS)
    if moves:
        check_state(current, state)
    runs_now = current.version in found.running
    less = f"./kappa rescale {request.job} --executors N --cores N"
    check_fits(request.job, wanted, current.settings, runs_now, capacity, less)
    new = replace(old, settings=wanted, generation=next_generation if moves else old.generation)
    action = Action.REPARTITION if moves else Action.RESTART if new != old else Action.UNCHANGED
    runs = current.desired is Desired.RUNNING
    pause = expected_pause_seconds(action, state.rows if state else None) if runs else 0.0
    why = _why(action, current, state)
    held = size_of(current.settings) if runs_now else NOTHING
    free = (capacity.free_cores + held.cores, capacity.free_memory_mb + held.memory_mb, capacity.sentence())
    return RescalePlan(request.job, current.version, action, old, new, state, *free, pause, why, current.desired)


def expected_pause_seconds(action: Action, state_rows: int | None) -> float:
    """How long no batch commits: RESTART_SECONDS, the price of a plain restart; for a repartition also
    REPARTITION_SECONDS + state_rows / ROWS_PER_SECOND. Unknown rows add nothing."""
    if action is Action.UNCHANGED:
        return 0.0
    if action is Action.RESTART:
        return RESTART_SECONDS
    return RESTART_SECONDS + REPARTITION_SECONDS + (state_rows or 0) / ROWS_PER_SECOND


def state_sentence(state: StateFacts | None) -> str:
    """The state for people."""
    if state is None:
        return "none"
    rows = "an unknown number of" if state.rows is None else f"{state.rows:,}"
    size = "" if state.bytes is None else f", {state.bytes / 1e6:,.1f} MB"
    pending = "; a batch is pending and is finished first" if state.pending else ""
    return f"{rows} rows{size} in {state.partitions} partitions of {', '.join(state.operators)}{pending}"


def _wanted(job: Job, request: RescaleRequest, current: Version) -> dict[str, int]:
    """The version's settings with the asked numbers in their place, checked against the catalogue's bounds."""
    resolve(job, request.numbers)
    return {**current.settings, **request.numbers}


def _why(action: Action, current: Version, state: StateFacts | None) -> tuple[str, ...]:
    if action is Action.UNCHANGED:
        return ("it has these numbers already: nothing is to be done",)
    first = "another number of cores or executors does the work, on the same checkpoint: a restart"
    if action is Action.REPARTITION:
        first = (
            "the state moves to another number of partitions, in a copy; the present one stays until the next rescale"
        )
    second = f"v{current.version} is stopped and stays stopped" if current.desired is Desired.STOPPED else ""
    unknown = "the size of the state is not known: the pause may be longer" if state and state.rows is None else ""
    return tuple(why for why in (first, second, unknown if action is Action.REPARTITION else "") if why)
