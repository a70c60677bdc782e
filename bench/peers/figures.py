"""What was measured of one engine, the rates that follow, and the one table with the ratios to Flink."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.percentiles import summary

REFERENCE = "Flink 1 s"
VALUES = (
    "cold rec/s", "warm rec/s", "rec/CPU-s", "p50, ms", "p90, ms", "p99, ms", "cores", "peak RSS, MB",
    "first result, s", "kill -9, s", "wrong rows",
)  # fmt: skip
COMPARED = ("warm rec/s", "rec/CPU-s", "p50, ms", "p99, ms")
COLUMNS = ("engine", *VALUES, "x warm", "x CPU", "x p50", "x p99")
LEGEND = (
    "rec/s: records per second, cold from the first one taken to all rows shown, warm the later half; rec/CPU-s: per "
    "second of the engine's CPU, its start included; ms from append to visible; cores of the engine meanwhile; first "
    "result: from the start command; kill -9: to the first result of a record appended after it; x: over "
    f"'{REFERENCE}'"
)


@dataclass(frozen=True)
class CatchUp:
    """How an engine worked off the backlog; seconds since the command that started it.

    `reading`: when it took its first record, None: unknown. `progress`: (seconds, events counted) as a reader saw it,
    from the start to all of them. `cpu`: CPU seconds of the engine from the start command on.
    """

    records: int
    reading: float | None
    progress: Sequence[tuple[float, int]]
    cpu: float

    @property
    def first_result(self) -> float | None:
        """Seconds to the first row that a reader saw."""
        return next((at for at, counted in self.progress if counted), None)

    @property
    def cold(self) -> float | None:
        """Records/s from the first record taken to the last one shown."""
        return _rate(self.records, self.reading or 0.0, self.progress[-1][0]) if self.progress else None

    @property
    def warm(self) -> float | None:
        """Records/s over the later half: from the first look that showed at least half of all to the last one."""
        if not self.progress or not (last := self.progress[-1][1]):
            return None
        at, counted = next((at, counted) for at, counted in self.progress if counted >= last / 2)
        return _rate(self.records * (last - counted) / last, at, self.progress[-1][0])

    @property
    def per_cpu_second(self) -> float | None:
        """Records per second of the engine's CPU, its start included."""
        return self.records / self.cpu if self.cpu else None


@dataclass(frozen=True)
class Live:
    """An engine under steady traffic: latencies (ms), probes never seen, cores used, and seconds from a kill -9 to the
    first result of a record that was appended after it (None: none came, or it was not killed)."""

    latencies: Sequence[float]
    missing: int
    cores: float
    recovery: float | None
    groups: dict[str, float] = field(default_factory=dict)
    """CPU seconds per process group of the time that counts, broker and Postgres among them."""
    also: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Latencies of other views of the same engine, by the name of their row."""


@dataclass(frozen=True)
class Measured:
    """All of one engine; what was left out is None. `differences`: rows that are not what the oracle says."""

    engine: str
    catch_up: CatchUp | None = None
    live: Live | None = None
    peak_bytes: int = 0
    differences: int | None = None
    groups: dict[str, float] = field(default_factory=dict)
    """CPU seconds per process group of the catch-up, broker and Postgres among them."""


def table(measured: Sequence[Measured]) -> list[tuple[object, ...]]:
    """Rows under COLUMNS; the last four are the engine's value over the reference's, blank where one is missing. An
    engine's other views follow it, with latencies only."""
    rows: dict[str, dict[str, float | None]] = {}
    for each in measured:
        rows[each.engine] = _values(each)
        for name, took in each.live.also.items() if each.live else ():
            rows[name] = {**dict.fromkeys(VALUES), **_latencies(took)}
    reference = rows.get(REFERENCE, {})
    return [
        (engine, *values.values(), *(ratio(values[name], reference.get(name)) for name in COMPARED))
        for engine, values in rows.items()
    ]


def ratio(value: float | None, reference: float | None) -> str | None:
    """How many times the reference a value is; None where one of them is missing or the reference is 0."""
    return f"{value / reference:.2f}" if value is not None and reference else None


def _latencies(took: Sequence[float]) -> dict[str, float | None]:
    """Those of VALUES that are percentiles."""
    shown = summary(took)
    return {f"{name}, ms": shown[name] for name in ("p50", "p90", "p99")}


def _values(of: Measured) -> dict[str, float | None]:
    """By name, in the order of VALUES."""
    caught, live = of.catch_up, of.live
    values = (
        _whole(caught.cold if caught else None),
        _whole(caught.warm if caught else None),
        _whole(caught.per_cpu_second if caught else None),
        *_latencies(live.latencies if live else ()).values(),
        round(live.cores, 3) if live else None,
        _whole(of.peak_bytes / 1e6 if of.peak_bytes else None),
        caught.first_result if caught else None,
        live.recovery if live else None,
        of.differences,
    )
    return dict(zip(VALUES, values, strict=True))


def _rate(records: float, begun: float, ended: float) -> float | None:
    return records / (ended - begun) if ended > begun and records else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
