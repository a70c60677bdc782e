"""The plan of a replay with its price: T, one candidate per job, what it costs, and whether it may be done at all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from kappa.code.differences import UNKNOWN, Difference, Parts, differing_settings, forbidden, table
from kappa.code.digests import ENVIRONMENT
from kappa.core.catalog import Effect, Job
from kappa.core.kafka_log import Offsets
from kappa.core.replays import Approval, Replay
from kappa.core.requests.reprocessing import ReprocessRequest, band_text, read_band
from kappa.core.validation import Band, Parity
from kappa.core.verbs import ReplayStep
from kappa.core.versions import Version
from kappa.verbs.desired import Found, Wanted
from kappa.verbs.replay.approval import decide_approval
from kappa.verbs.replay.bands import check_bands
from kappa.verbs.replay.candidate import Candidate, candidate
from kappa.verbs.replay.errors import (
    ExactParityOfOtherLogic,
    LogWillBeTooShort,
    NeverCatchesUp,
    NoExactStart,
    NoFreeCores,
    StartNotFinal,
)
from kappa.verbs.replay.price import LogFacts, Price, Weight, price, smallest_safe_ms, to_read
from kappa.verbs.start_point import EARLIEST, InvalidStart, LogHead, StartPoint, start_ms, utc
from kappa.verbs.stop.plan import NothingDeployed


@dataclass(frozen=True)
class ReprocessPlan:
    """What a replay will do, and why. `starts_ms` is T (None: with the log); `free_cores` are the worker's."""

    candidates: tuple[Candidate, ...]
    starts_ms: int | None
    price: Price
    parity: Parity
    bands: tuple[Band, ...]
    approval: Approval
    promote: bool
    reason: str | None
    free_cores: int
    why: tuple[str, ...]

    @property
    def steps(self) -> tuple[ReplayStep, ...]:
        """The steps, in order; nobody is asked where the policy says so, and a proof ends with the validation."""
        left_out = set() if self.promote else {ReplayStep.PROMOTE}
        if not self.asks:
            left_out.add(ReplayStep.APPROVE)
        return tuple(step for step in ReplayStep if step not in left_out)

    @property
    def asks(self) -> bool:
        """Whether a person has to agree."""
        return self.promote and self.approval is Approval.ASK

    @property
    def cores(self) -> int:
        """The worker's cores that all candidates take."""
        return sum(candidate.cores for candidate in self.candidates)

    def staged(self) -> tuple[Version, ...]:
        """The versions as they are staged."""
        return tuple(candidate.staged() for candidate in self.candidates)

    def replay(self, replay_id: UUID, run_id: str, asked_by: str) -> Replay:
        """The replay that a run of this plan is."""
        versions = {c.job: c.version for c in self.candidates}
        live = {c.job: c.live_version for c in self.candidates}
        asked = (self.parity, self.bands, self.approval, self.promote, asked_by, self.reason)
        return Replay(replay_id, run_id, versions, live, self.starts_ms, *asked, self.price.to_json())

    def rows(self) -> list[tuple[str, str]]:
        """The plan for people, its price among it."""
        first = self.candidates[0]
        offsets = "\n".join(
            f"partition {p}: from {first.start.offsets[p]:,}, {n:,} records" for p, n in first.records.items()
        )
        bands = f" ({', '.join(band_text(band) for band in self.bands)})" if self.bands else ""
        differing = [(f"{c.job} differs", table(c.differences)) for c in self.candidates if c.differences]
        return [
            ("candidates", "\n".join(f"{c.job} v{c.version}, against v{c.live_version}" for c in self.candidates)),
            ("why", "\n".join(self.why)),
            ("artifact", first.artifact),
            *differing,
            ("T", first.start.sentence()),
            ("offsets", offsets),
            *self.price.rows(),
            ("cores", f"{self.cores} of {self.free_cores} free ones"),
            ("parity", f"{self.parity}{bands}"),
            ("approval", self._approval()),
            ("steps", " -> ".join(self.steps)),
        ]

    def _approval(self) -> str:
        if not self.promote:
            return "none: nothing is promoted, the candidates are thrown away"
        return "somebody is asked before the promotion" if self.asks else "promoted by itself once validated"

    def to_json(self) -> dict[str, Any]:
        """The plan for machines."""
        words = {
            "parity": self.parity.value,
            "approval": self.approval.value,
            "bands": [band_text(b) for b in self.bands],
        }
        held = {"candidates": [c.to_json() for c in self.candidates], "price": self.price.to_json()}
        return {**vars(self), **words, **held, "why": list(self.why), "steps": list(self.steps)}

    @classmethod
    def from_json(cls, held: Mapping[str, Any]) -> ReprocessPlan:
        """The plan that `to_json` wrote."""
        fields = {name: value for name, value in held.items() if name != "steps"}
        words = {"parity": Parity(held["parity"]), "approval": Approval(held["approval"]), "why": tuple(held["why"])}
        bands = tuple(read_band(band) for band in held["bands"])
        candidates = tuple(Candidate.from_json(c) for c in held["candidates"])
        return cls(
            **{**fields, **words, "bands": bands, "candidates": candidates, "price": Price.from_json(held["price"])}
        )


def choose_start(
    request: ReprocessRequest, wanted: Mapping[str, Wanted], head: LogHead, now_ms: int, final: Mapping[str, int | None]
) -> int | None:
    """T (ms) of all jobs; None: with the log. The log is to be read from T less `future_bound_ms(wanted)` on.

    `final` is each live version's complete_through (ms). Raises InvalidStart, LogTooShort, StartNotFinal,
    NoExactStart, NoJobs, UnknownJob.
    """
    window_ms = math.lcm(*(job.window_ms for job in request.catalogued()))
    starts = start_ms(request.start, head, now_ms, future_bound_ms(wanted))
    if starts is None:
        return None
    if request.start == EARLIEST:
        starts = -(-starts // window_ms) * window_ms
    elif starts % window_ms:
        raise InvalidStart(request.start, f"is not an edge of the jobs' windows of {window_ms} ms")
    job, through = min(final.items(), key=lambda item: -math.inf if item[1] is None else item[1])
    largest = None if through is None else through // window_ms * window_ms
    if largest is None or starts > largest:
        raise (NoExactStart if request.start == EARLIEST else StartNotFinal)(starts, job, largest)
    return starts


def future_bound_ms(wanted: Mapping[str, Wanted]) -> int:
    """How far before T the log is read, for all jobs alike: the greatest future bound; more only gives more records
    the fate before_start."""
    return max(one.settings["future_bound_ms"] for one in wanted.values())


def decide_reprocess(
    request: ReprocessRequest,
    found: Mapping[str, Found],
    wanted: Mapping[str, Wanted],
    start: StartPoint,
    log: LogFacts,
    weights: Mapping[str, Weight],
    free_cores: int,
    parts: Mapping[str, Parts],
) -> ReprocessPlan:
    """The plan; `found`, `wanted`, `weights` and `parts` are by job, `start` is at `choose_start`'s T, `log` holds its
    samples from there on, `free_cores` are what the worker has beside all that runs.

    Raises NoJobs, UnknownJob, NothingDeployed, NoBands, UnusedBands, UnknownBand, InvalidBand, LaxerThanPolicy,
    ExactParityOfOtherLogic, NoFreeCores, NeverCatchesUp, LogWillBeTooShort.
    """
    jobs, live = request.catalogued(), live_versions(request, found)
    check_bands(jobs, request.parity, request.bands)
    approval = decide_approval(jobs, request.approval) if request.promote else Approval.AUTO
    records = to_read(start.offsets, log.ends)
    made = tuple(
        candidate(
            wanted[job.name],
            live[job.name],
            found[job.name].next_number(),
            start,
            records,
            log.bytes_per_record,
            _differing(request, job, live[job.name], wanted[job.name], parts.get(job.name, UNKNOWN)),
        )
        for job in jobs
    )
    _check_cores(made, free_cores)
    weighed = {one.job: weights[one.job] for one in made}
    costs = price(log, start.offsets, weighed, {one.job: one.most_per_s for one in made})
    _check_feasible(costs, log, start.offsets, future_bound_ms(wanted))
    terms = (request.parity, request.bands, approval, request.promote, request.reason)
    return ReprocessPlan(made, start.starts_ms, costs, *terms, free_cores, _why(made, live, start))


def live_versions(request: ReprocessRequest, found: Mapping[str, Found]) -> dict[str, Version]:
    """The versions that serve the live ends, by job. Raises NothingDeployed, NoJobs, UnknownJob."""
    live = {job.name: found[job.name].current() if found[job.name].segments else None for job in request.catalogued()}
    for job, version in live.items():
        if version is None:
            raise NothingDeployed(job)
    return {job: version for job, version in live.items() if version}


def _differing(
    request: ReprocessRequest, job: Job, live: Version, wanted: Wanted, parts: Parts
) -> tuple[Difference, ...]:
    """What differs from the live version. That other packages give the very same rows is what an exact parity shows.

    Raises ExactParityOfOtherLogic.
    """
    differing = forbidden(job, live, wanted, parts)
    same_logic = bool(differing) and all(d.what.startswith(ENVIRONMENT) for d in differing)
    if request.parity is Parity.EXACT and wanted.result_digest != live.result_digest and not same_logic:
        raise ExactParityOfOtherLogic(job.name, live.version, differing)
    return differing + differing_settings(job, live, wanted, Effect.TUNING)


def _check_cores(made: Sequence[Candidate], free_cores: int) -> None:
    cores = sum(one.cores for one in made)
    if cores > free_cores:
        raise NoFreeCores([one.job for one in made], cores, free_cores)


def _check_feasible(costs: Price, log: LogFacts, starts: Offsets, bound_ms: int) -> None:
    job, slowest = min(costs.speeds.items(), key=lambda item: item[1])
    if slowest <= log.arrivals_per_s:
        raise NeverCatchesUp(job, slowest, log.arrivals_per_s)
    slack = costs.retention_slack_seconds
    if slack is not None and slack < 0:
        safe_ms = -(-smallest_safe_ms(log, starts, slowest, bound_ms) // 60_000) * 60_000
        raise LogWillBeTooShort(-slack, slowest, log.retention_ms or 0, safe_ms, log.now_ms)


def _why(made: Sequence[Candidate], live: Mapping[str, Version], start: StartPoint) -> tuple[str, ...]:
    same = [one.job for one in made if one.result_digest == live[one.job].result_digest]
    other = [one.job for one in made if one.job not in same]
    before = "" if start.starts_ms is None else f"; windows before {utc(start.starts_ms)} stay with what serves them"
    first = "the log is read again into rows, checkpoint and state of their own, beside the live versions"
    equal = f"{', '.join(same)}: the same logic, so the same rows are to come out" if same else ""
    differs = f"{', '.join(other)}: other logic, so other numbers may come out" if other else ""
    together = "all are promoted together or none" if len(made) > 1 else ""
    return tuple(why for why in (first + before, equal, differs, together) if why)
