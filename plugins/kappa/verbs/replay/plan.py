"""The plan of a replay with its price: T, one candidate per job, what it costs, and whether it may be done at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from kappa.cluster import Capacity
from kappa.code.differences import UNKNOWN, Difference, Parts, differing_settings, forbidden, table
from kappa.code.digests import ENVIRONMENT
from kappa.core.job_catalog import Effect, Job
from kappa.core.refusals import Refusal
from kappa.core.replays import Approval, Replay
from kappa.core.requests.reprocessing import ReprocessRequest, band_text, read_band
from kappa.core.serialization import Serializable
from kappa.core.validation import Band, Parity
from kappa.core.verb_steps import ReplayStep
from kappa.core.versions import Version
from kappa.verbs.desired import Found, Wanted
from kappa.verbs.replay.candidate import Candidate, candidate, check_room
from kappa.verbs.replay.price import LogFacts, Price, Weight, check_feasible, price, to_read
from kappa.verbs.replay.uncompared import uncompared
from kappa.verbs.start_point import StartPoint, utc
from kappa.verbs.stop.plan import NothingDeployed


class LaxerThanPolicy(Refusal):
    """A request would promote by itself what a person has to agree to."""

    def __init__(self, jobs: Sequence[str]) -> None:
        super().__init__(
            f"the policy of {', '.join(jobs)} is to ask before a promotion, and a request may only be stricter than "
            "it; nothing was changed. Leave the approval to the policy (--approve ask), or change it in "
            "plugins/kappa/core/job_catalog.py: it is in no digest, so no replay is needed for that."
        )


class ExactParityOfOtherLogic(Refusal):
    """Other logic cannot be asked to give the same rows."""

    def __init__(self, job: str, live: int, differences: tuple[Difference, ...]) -> None:
        super().__init__(
            f"parity exact asks for the very rows of {job} v{live}, and the replay would compute others, for these "
            f"differ:\n{table(differences)}\nNothing was staged. Say what may differ (--parity declared with a band "
            f"for each measure), only have it reported (--parity report), or replay the same code and settings."
        )


@dataclass(frozen=True)
class ReprocessPlan(Serializable):
    """What a replay will do, and why. `starts_ms` is T (None: with the log); `free_cores` are the cluster's;
    `uncompared` are the windows that candidates would replace without having been compared on them."""

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
    uncompared: tuple[str, ...] = ()

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
        """The cluster's cores that all candidates take."""
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
            *([("replaced, but not compared", "\n".join(self.uncompared))] if self.uncompared else []),
            ("approval", self._approval()),
            ("steps", " -> ".join(self.steps)),
        ]

    def _approval(self) -> str:
        if not self.promote:
            return "none: nothing is promoted, the candidates are thrown away"
        return "somebody is asked before the promotion" if self.asks else "promoted by itself once validated"

    def to_json(self) -> dict[str, Any]:
        """The plan for machines, with its steps; bands as they are written in a request."""
        return super().to_json() | {"bands": [band_text(band) for band in self.bands], "steps": list(self.steps)}

    @classmethod
    def from_json(cls, held: Mapping[str, Any]) -> Self:
        """The plan that `to_json` wrote."""
        return super().from_json({**held, "bands": [vars(read_band(band)) for band in held["bands"]]})


def decide_reprocess(
    request: ReprocessRequest,
    found: Mapping[str, Found],
    wanted: Mapping[str, Wanted],
    start: StartPoint,
    log: LogFacts,
    weights: Mapping[str, Weight],
    capacity: Capacity,
    parts: Mapping[str, Parts],
) -> ReprocessPlan:
    """The plan; `found`, `wanted`, `weights` and `parts` are by job, `start` is at `replay_start_ms`'s T, `log` holds
    its samples from there on, `capacity` is what the cluster has beside all that runs.

    Raises NoJobs, UnknownJob, NothingDeployed, NoBands, UnusedBands, UnknownBand, InvalidBand, LaxerThanPolicy,
    ExactParityOfOtherLogic, ReplacesUncompared, NoFreeCores, DoesNotFit, NeverCatchesUp, LogWillBeTooShort.
    """
    jobs, live = request.catalogued(), live_versions(found)
    approval = decide_approval(jobs, request.approval) if request.promote else Approval.AUTO
    why = _why(wanted, live, start)
    differing = {
        job.name: _differing(job, request.parity, live[job.name], wanted[job.name], parts.get(job.name, UNKNOWN))
        for job in jobs
    }
    unseen = uncompared(request, approval, found, live, start) if request.promote else ()
    records = to_read(start.offsets, log.ends)
    made = tuple(
        candidate(
            wanted[job], live[job], found[job].next_number(), start, records, log.bytes_per_record, differing[job]
        )
        for job in differing
    )
    check_room(made, capacity)
    costs = price(
        log, start.offsets, {one.job: weights[one.job] for one in made}, {one.job: one.most_per_s for one in made}
    )
    check_feasible(costs, log, start.offsets)
    terms = (request.parity, request.bands, approval, request.promote, request.reason)
    return ReprocessPlan(made, start.starts_ms, costs, *terms, capacity.free_cores, why, unseen)


def decide_approval(jobs: Sequence[Job], asked: Approval | None) -> Approval:
    """Whether a person has to agree to promoting these jobs together: ASK where one policy or the request says so.

    `asked` None leaves it to the policies. Raises LaxerThanPolicy.
    """
    strict = [job.name for job in jobs if job.approval is Approval.ASK]
    if asked is Approval.AUTO and strict:
        raise LaxerThanPolicy(strict)
    return Approval.ASK if strict or asked is Approval.ASK else Approval.AUTO


def live_versions(found: Mapping[str, Found]) -> dict[str, Version]:
    """The versions that serve the live ends, by job. Raises NothingDeployed."""
    live = {job: there.current() if there.segments else None for job, there in found.items()}
    for job, version in live.items():
        if version is None:
            raise NothingDeployed(job)
    return {job: version for job, version in live.items() if version}


def _differing(job: Job, parity: Parity, live: Version, wanted: Wanted, parts: Parts) -> tuple[Difference, ...]:
    """What differs from the live version. That other packages give the very same rows is what an exact parity shows.

    Raises ExactParityOfOtherLogic.
    """
    differing = forbidden(job, live, wanted, parts)
    same_logic = bool(differing) and all(d.what.startswith(ENVIRONMENT) for d in differing)
    if parity is Parity.EXACT and wanted.result_digest != live.result_digest and not same_logic:
        raise ExactParityOfOtherLogic(job.name, live.version, differing)
    return differing + differing_settings(job, live, wanted, Effect.TUNING)


def _why(wanted: Mapping[str, Wanted], live: Mapping[str, Version], start: StartPoint) -> tuple[str, ...]:
    same = [job for job, one in wanted.items() if one.result_digest == live[job].result_digest]
    other = [job for job in wanted if job not in same]
    before = "" if start.starts_ms is None else f"; windows before {utc(start.starts_ms)} stay with what serves them"
    first = "the log is read again into rows, checkpoint and state of their own, beside the live versions"
    equal = f"{', '.join(same)}: the same logic, so the same rows are to come out" if same else ""
    differs = f"{', '.join(other)}: other logic, so other numbers may come out" if other else ""
    together = "all are promoted together or none" if len(wanted) > 1 else ""
    return tuple(why for why in (first + before, equal, differs, together) if why)
