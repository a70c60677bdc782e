"""Which size would suit a version better, from what it had to do lately: quick to see that it is overrun, slow to take
anything away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kappa.core.advice.load import LOOK_SECONDS, QUIET_HOURS, WAITING_SECONDS, Free, Load
from kappa.core.job_catalog import EXECUTOR_CORES, EXECUTORS, STATE_PARTITIONS, find, working_cores
from kappa.core.serialization import Serializable

SILENT_SECONDS = 30.0
"""A driver that has not beaten for so long is not judged by its size."""
LONG_BATCH_MS = 5_000
"""In a shorter batch what every batch costs whatever it reads weighs most, and cores do not help with that."""
WITHOUT_PAUSE = 0.8
"""A batch that takes this share of the time between two commits leaves none to speak of."""
SOON_SECONDS = 3_600.0
"""What is caught up within this is left alone."""
IDLE = 0.2
"""A version is idle that would work for at most this share of the time in the busiest minute."""
RECORDS_PER_BATCH = "records_per_batch"


class Size(StrEnum):
    """What would suit a version better."""

    MORE = "more"
    FEWER = "fewer"
    LARGER_BATCHES = "larger_batches"
    NONE = "none"


@dataclass(frozen=True)
class Advice(Serializable):
    """What would suit a version better: `wanted` are settings by name, only those that differ; `sentence` says why,
    and `numbers` are what it is told from."""

    job: str
    version: int
    size: Size
    sentence: str
    wanted: Mapping[str, int] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def form(self) -> Mapping[str, int]:
        """The fields of a rescale that would do it; none where a rescale is not what would."""
        fields = {STATE_PARTITIONS: "partitions", EXECUTOR_CORES: "cores", EXECUTORS: "executors"}
        return {fields[name]: value for name, value in self.wanted.items() if name in fields}

    @property
    def command(self) -> str:
        """The command that would do it; empty without advice."""
        if self.size is Size.LARGER_BATCHES:
            return f"./kappa deploy {self.job} --set {RECORDS_PER_BATCH}={self.wanted[RECORDS_PER_BATCH]}"
        options = "".join(f" --{name} {value}" for name, value in self.form.items())
        return f"./kappa rescale {self.job}{options}" if options else ""

    def to_json(self) -> dict[str, object]:
        """The advice for machines, with its command and the values of the form that it would be asked for by: of a
        rescale or, for larger batches, of a deployment."""
        settings = [f"{name}={value}" for name, value in self.wanted.items()]
        fields = {"settings": settings} if self.size is Size.LARGER_BATCHES else dict(self.form)
        form = {"job": self.job, **fields} if fields else {}
        return super().to_json() | {"command": self.command, "form": form}


def advise(load: Load, free: Free | None) -> Advice:
    """What would suit a version better; Size.NONE, with the reason, where nothing would or nothing can be told.

    `free` is what the cluster has for it beside what it holds; None: that is not known. More is advised when batches
    have followed one another without a pause for LOOK_SECONDS, or the oldest record has waited for that long, and what
    is unread is not about to be caught up. Fewer, when even the busiest minute of QUIET_HOURS left it idle.
    """
    if unknown := _not_judged(load):
        return _none(load, free, unknown)
    busy, behind = _is_busy(load), load.lag_seconds >= LOOK_SECONDS
    if not busy and not behind:
        return _fewer(load, free) if _is_idle(load) else _none(load, free, _fits(load))
    growth = load.growth_per_second
    if growth is not None and growth < 0 and (left := load.lag_events / -growth) <= SOON_SECONDS:
        return _none(load, free, f"it catches up by itself in about {left / 60:.0f} min")
    if not busy and load.lag_events > load.settings[RECORDS_PER_BATCH] and load.utilisation < 1:
        larger = min(2 * load.settings[RECORDS_PER_BATCH], _most(load.job, RECORDS_PER_BATCH))
        if larger > load.settings[RECORDS_PER_BATCH]:
            why = f"batches of {load.settings[RECORDS_PER_BATCH]:,} records leave time unused: larger ones would help"
            return _advice(load, free, Size.LARGER_BATCHES, why, {RECORDS_PER_BATCH: larger})
    return _more(load, free, busy)


def _not_judged(load: Load) -> str:
    """Why nothing can be told of a version; empty where something can."""
    if load.failing:
        return f"it is red ({load.failing}), which is to be mended first"
    if load.desired != "running" or load.state != "LIVE":
        return f"it is {load.state} and wanted {load.desired}"
    if load.beat_seconds is None or load.beat_seconds > SILENT_SECONDS or load.batch_ms is None:
        return "its driver is not at work"
    if load.unchanged_seconds < LOOK_SECONDS:
        return f"it has been as it is for {load.unchanged_seconds:.0f} s only, of {LOOK_SECONDS} that are looked at"
    return ""


def _fits(load: Load) -> str:
    """Why a version is left as it is that is neither overrun nor idle."""
    if load.lag_seconds >= WAITING_SECONDS:
        return f"records wait, but not for {LOOK_SECONDS // 60} min yet"
    if load.utilisation >= WITHOUT_PAUSE:
        return "its size fits: its short batches leave no pause, but nothing waits for them"
    return "its size fits"


def _is_busy(load: Load) -> bool:
    """Whether long batches follow one another without a pause, and records wait for them."""
    if load.gap_ms is None or load.batch_ms is None or load.gap_ms < max(LONG_BATCH_MS, load.cadence_ms):
        return False
    return load.batch_ms >= WITHOUT_PAUSE * load.gap_ms and load.lag_seconds * 1000 >= LONG_BATCH_MS


def _is_idle(load: Load) -> bool:
    """Whether there is something to take away, and even the busiest minute would have left it idle: a batch's time is
    taken to grow with what it reads, which is rather too much."""
    if load.unchanged_seconds < QUIET_HOURS * 3600 or load.lag_seconds >= WAITING_SECONDS or not load.reads_per_second:
        return False
    at_peak = load.utilisation * max(1.0, load.peak_per_second / load.reads_per_second)
    return working_cores(load.settings) > 1 and at_peak <= IDLE


def _more(load: Load, free: Free | None, busy: bool) -> Advice:
    """Twice the cores, or as many as the cluster has free; the state in as many partitions at least."""
    seen = "batches follow one another without a pause" if busy else "records have waited"
    why = f"{seen} for {LOOK_SECONDS // 60} min: more cores would help"
    if free is None:
        return _none(load, free, f"{why}, but what the cluster has free is not known now")
    name = EXECUTORS if load.settings[EXECUTORS] else EXECUTOR_CORES
    now = load.settings[name]
    wanted = {name: now + min(now, _most(load.job, name) - now, _room(load, free))}
    if wanted[name] <= now:
        return _none(load, free, f"{why}, but the cluster has {free.cores} cores and {free.memory_mb:,} MB free")
    cores = working_cores({**load.settings, **wanted})
    if STATE_PARTITIONS in load.settings and load.settings[STATE_PARTITIONS] < cores:
        wanted[STATE_PARTITIONS] = min(cores, _most(load.job, STATE_PARTITIONS))
    return _advice(load, free, Size.MORE, why, wanted)


def _room(load: Load, free: Free) -> int:
    """How many executors more, or cores of the driver, the cluster has free in all; on which hosts, the plan of the
    rescale looks at."""
    if not load.settings[EXECUTORS]:
        return free.cores
    return min(free.cores // load.settings[EXECUTOR_CORES], free.memory_mb // load.settings["executor_memory_mb"])


def _fewer(load: Load, free: Free | None) -> Advice:
    """Half of the executors, or of the cores; the state stays as it is: moving it would cost a longer pause."""
    name = EXECUTORS if load.settings[EXECUTORS] > 1 else EXECUTOR_CORES
    why = (
        f"even in the busiest minute of {QUIET_HOURS} h, with {load.peak_per_second:,.0f} records/s, it would have "
        f"worked for less than {IDLE:.0%} of the time: fewer cores may do"
    )
    return _advice(load, free, Size.FEWER, why, {name: max(1, load.settings[name] // 2)})


def _none(load: Load, free: Free | None, why: str) -> Advice:
    return _advice(load, free, Size.NONE, f"no advice: {why}", {})


def _advice(load: Load, free: Free | None, size: Size, why: str, wanted: Mapping[str, int]) -> Advice:
    sentence = f"{why} ({facts(load)})"
    return Advice(load.job, load.version, size, sentence, dict(wanted), numbers(load, free))


def facts(load: Load) -> str:
    """What a version has to do and how it copes, in words."""
    batch = "no batch yet" if load.batch_ms is None else f"batch {load.batch_ms:,} ms, cadence {load.cadence_ms:,} ms"
    able = "" if load.able_per_second is None else f" of {load.able_per_second:,.0f} that it could"
    state = "" if load.state_rows is None else f", state {load.state_rows:,} rows"
    return (
        f"in the last {LOOK_SECONDS // 60} min {load.arriving_per_second:,.0f} records/s arrived, and it read "
        f"{load.reads_per_second:,.0f}{able}; {batch}; "
        f"{load.lag_events:,} unread, the oldest {load.lag_seconds:,.0f} s{state}"
    )


def numbers(load: Load, free: Free | None) -> dict[str, float]:
    """What an advice is told from, by name; what is not known is left out."""
    names = ("cadence_ms", RECORDS_PER_BATCH, EXECUTORS, EXECUTOR_CORES, STATE_PARTITIONS)
    known = {
        "utilisation": round(load.utilisation, 3), "arriving_per_second": load.arriving_per_second,
        "reads_per_second": load.reads_per_second, "able_per_second": load.able_per_second,
        "peak_per_second": load.peak_per_second, "growth_per_second": load.growth_per_second,
        "lag_events": load.lag_events, "lag_seconds": load.lag_seconds, "batch_ms": load.batch_ms,
        "gap_ms": load.gap_ms, "unchanged_seconds": load.unchanged_seconds, "state_rows": load.state_rows,
        "state_bytes": load.state_bytes, "free_cores": free.cores if free else None,
        "free_memory_mb": free.memory_mb if free else None,
        **{name: load.settings[name] for name in names if name in load.settings},
    }  # fmt: skip
    return {name: round(float(value), 3) for name, value in known.items() if value is not None}


def _most(job: str, name: str) -> int:
    """The greatest value that a job's setting may have."""
    return next(setting.most for setting in find(job).settings if setting.name == name)
