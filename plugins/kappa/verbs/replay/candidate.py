"""What a candidate of a replay runs as: the request's settings, cores and read rate over what the live version has;
and what gives it the live version's size once it serves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from kappa.cluster import Capacity
from kappa.code.differences import Difference
from kappa.core.job_catalog import EXECUTOR_CORES, Job, UnknownJobSetting
from kappa.core.log.kafka_log import Offsets
from kappa.core.refusals import Refusal
from kappa.core.requests.reprocessing import LEAST_RATE, ReprocessRequest
from kappa.core.serialization import Serializable
from kappa.core.versions import Desired, State, Version
from kappa.verbs.desired import Wanted
from kappa.verbs.drivers.size import check_fits, size_of
from kappa.verbs.start_point import StartPoint

CADENCE_MS = 2_000
"""The least time between two batches of a candidate whose read rate is limited. A batch costs about as much for few
records as for many, so at one a second the candidates alone took more than the cores; READY_SECONDS bounds it above."""
CADENCE, RECORDS = "cadence_ms", "records_per_batch"
SIZES = (EXECUTOR_CORES, CADENCE, RECORDS)
"""The settings by which `--cores` and `--rate` keep a replay small beside the live versions."""


class NoFreeCores(Refusal):
    """The cluster cannot place all candidates beside what runs."""

    def __init__(self, jobs: Sequence[str], wanted: int, free: int) -> None:
        super().__init__(
            f"the candidates of {', '.join(jobs)} would take {wanted} cores of the cluster, and {free} are free; a "
            f"replay takes none from a live job. Nothing was staged. Give it fewer (--cores N), replay one job at a "
            f"time, stop what is not needed ('./kappa status'), or raise worker_cores in kappa.toml."
        )


class RateOutOfRange(Refusal):
    """The read rate is none that batches can keep."""

    def __init__(self, rate: int, least: int, most: int) -> None:
        super().__init__(
            f"a read rate of {rate} records/s cannot be kept by batches: it must lie between {least} and {most:,}. "
            f"Nothing was staged. Give another --rate, or none: then the job's own settings hold."
        )


class RateGivenTwice(Refusal):
    """A read rate and the settings that it becomes were both given."""

    def __init__(self, rate: int, settings: Sequence[str]) -> None:
        super().__init__(
            f"a read rate ({rate} records/s) sets {' and '.join(settings)}, which were given, too; nothing was staged. "
            f"Give the rate or the settings."
        )


@dataclass(frozen=True)
class Candidate(Serializable):
    """A version that a replay makes of one job, and what it reads: `records` per partition, `bytes` about.

    `differences` are those to the live version, which started at `live_starts_ms` (None: with the log).
    """

    job: str
    version: int
    live_version: int
    artifact: str
    settings: Mapping[str, int]
    topic: str
    topic_id: str
    state_digest: str
    result_digest: str
    start: StartPoint
    records: Offsets
    bytes: int
    differences: tuple[Difference, ...] = ()
    live_starts_ms: int | None = None

    @property
    def cores(self) -> int:
        """The cluster's cores that it takes."""
        return size_of(self.settings).cores

    @property
    def most_per_s(self) -> float:
        """The most records a second that its settings let it read."""
        return most_per_s(self.settings)

    @property
    def compared_from_ms(self) -> int | None:
        """The first window (ms) that both versions hold whole; None: all."""
        return max((ms for ms in (self.start.starts_ms, self.live_starts_ms) if ms is not None), default=None)

    def staged(self) -> Version:
        """The version as it is staged."""
        return Version(
            job=self.job,
            version=self.version,
            state=State.STAGED,
            desired=Desired.RUNNING,
            artifact=self.artifact,
            state_digest=self.state_digest,
            result_digest=self.result_digest,
            settings=self.settings,
            topic=self.topic,
            topic_id=self.topic_id,
            starts_at=self.start.starts_at,
            start_offsets=self.start.offsets,
            first_appended=self.start.first_appended,
        )


def candidate(
    wanted: Wanted, live: Version, number: int, start: StartPoint, records: Offsets, size: float,
    differences: tuple[Difference, ...],
) -> Candidate:  # fmt: skip
    """The candidate that runs as wanted; `size` is the bytes of a record."""
    same = {**asdict(wanted), "settings": wanted.settings}
    live_starts = None if live.starts_at is None else _ms(live.starts_at)
    weighs = round(sum(records.values()) * size)
    return Candidate(version=number, live_version=live.version, start=start, records=records, bytes=weighs,
                     differences=differences, live_starts_ms=live_starts, **same)  # fmt: skip


def check_room(made: Sequence[Candidate], capacity: Capacity) -> None:
    """Pass when the cluster has the cores for all of them, and can place each. Raises NoFreeCores, DoesNotFit."""
    cores = sum(one.cores for one in made)
    if cores > capacity.free_cores:
        raise NoFreeCores([one.job for one in made], cores, capacity.free_cores)
    for one in made:
        less = f"./kappa reprocess {one.job} --set executors=N --cores N"
        check_fits(one.job, one.settings, None, False, capacity, less)


def given(request: ReprocessRequest, job: Job) -> dict[str, int | str]:
    """The settings that a request gives one of its jobs. Raises UnknownJobSetting, RateOutOfRange, RateGivenTwice."""
    known = {setting.name for setting in job.settings}
    for name in request.settings:
        if not any(name == setting.name for one in request.catalogued() for setting in one.settings):
            raise UnknownJobSetting(job, name)
    asked = {name: value for name, value in request.settings.items() if name in known}
    cores = {} if request.cores is None else {EXECUTOR_CORES: request.cores}
    return {**asked, **cores, **_throttle(request, job)}


def throttle(job: Job, rate: int) -> dict[str, int]:
    """The batches that read at most `rate` records/s: as many records as the rate gives in a cadence, which is longer
    or shorter than CADENCE_MS where a batch would be smaller or larger than the catalogue allows. Raises
    RateOutOfRange."""
    records = next(setting for setting in job.settings if setting.name == RECORDS)
    if not LEAST_RATE <= rate <= records.most:
        raise RateOutOfRange(rate, LEAST_RATE, records.most)
    per_batch = min(max(rate * CADENCE_MS // 1000, records.least), records.most)
    return {RECORDS: per_batch, CADENCE: -(-1000 * per_batch // rate)}


def most_per_s(settings: Mapping[str, Any]) -> float:
    """The most records a second that a version's settings let it read; `math.inf` where no cadence holds it back."""
    cadence_ms = settings[CADENCE]
    return 1000.0 * settings[RECORDS] / cadence_ms if cadence_ms else math.inf


def remedy(promoted: Version, before: Version) -> str | None:
    """A sentence with the deployment in place that gives the promoted version the size of the one before it; None
    where both have the same."""
    was, now = before.settings, promoted.settings
    other = [name for name in SIZES if name in was and was[name] != now.get(name)]
    if not other:
        return None
    given = " ".join(f"--set {name}={was[name]}" for name in other)
    return (
        f"{promoted.job} v{promoted.version} goes on as small as its replay was; as v{before.version} ran: "
        f"./kappa deploy {promoted.job} {given} --reason TEXT."
    )


def _throttle(request: ReprocessRequest, job: Job) -> dict[str, int]:
    if request.rate is None:
        return {}
    if twice := [name for name in (RECORDS, CADENCE) if name in request.settings]:
        raise RateGivenTwice(request.rate, twice)
    return throttle(job, request.rate)


def _ms(instant: datetime) -> int:
    return round(instant.timestamp() * 1000)
