"""The two measurements of an engine: working off a backlog from nothing, and steady traffic with a kill -9 in it."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.cpu import CpuMeter
from bench.live import Database
from bench.load import Background, now_ms
from bench.peers import tables
from bench.peers.engines import Engine, Task
from bench.peers.expected import Rows, Stretch, counted, ends, expected
from bench.peers.figures import CatchUp, Live
from bench.probes import Probing, Reader, latencies
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal

LOOK_SECONDS, MOST_LOOKING = 0.25, 0.1
"""A look adds up the whole table, which must not take more than so much of the time from who is measured."""
PROBE_MS, POLL_MS = 200.0, 50.0
SETTLE_SECONDS = 60.0
_PROBES = "select distinct client_id from {} where client_id = any(%s)"


class NotShown(Refusal):
    """An engine did not show what it should in time."""

    def __init__(self, engine: str, what: str, seconds: float) -> None:
        super().__init__(f"'{engine}' did not show {what} within {seconds:.0f} s. It was stopped; the rest is not run.")


@dataclass(frozen=True)
class Traffic:
    """Of the steady traffic: records/s, seconds of it that count, seconds before that do not, and its seed."""

    rate: float
    seconds: float
    warm_up: float
    seed: int


@dataclass(frozen=True)
class Worked:
    """What the first measurement gives: the curve, the most resident memory, wrong rows, CPU seconds per group."""

    catch_up: CatchUp
    peak_bytes: int
    differences: int
    groups: dict[str, float]


@dataclass(frozen=True)
class Lived:
    """What the second one gives."""

    live: Live
    peak_bytes: int
    differences: int


def catch_up(stack: Settings, engine: Engine, stretch: Stretch, rows: Rows, within: float) -> Worked:
    """Start an engine from nothing and follow it until it shows all rows of a stretch. Raises NotShown."""
    with _task(stack, stretch.starts) as task, CpuMeter(stack) as meter, _running(engine):
        database = Database(stack, "kappa_reader")
        base = 0 if engine.table == tables.NAME else _counted(database, engine.table)
        begun = time.time()
        engine.start(task)
        progress = _follow(database, engine, base, counted(rows), begun, within)
        used = meter.read()
        reading_ms = engine.reading_ms()
        reading = None if reading_ms is None else reading_ms / 1000 - begun
        figures = CatchUp(stretch.records, reading, progress, cpu_of(engine, used))
        return Worked(figures, meter.peak_bytes(engine.groups), engine.differences(task, rows), used)


def live(stack: Settings, engine: Engine, traffic: Traffic, with_kill: bool, within: float) -> Lived:
    """Start an engine at the end of the log, and measure it under traffic. Raises NotShown."""
    starts = ends(stack)
    with _task(stack, starts) as task, _running(engine):
        engine.start(task)
        views = {name: _PROBES.format(view) for name, view in {engine.name: engine.table, **engine.also}.items()}
        with Probing(stack, PROBE_MS, POLL_MS, views) as probing:
            reader = probing.readers[engine.name]
            _await_first(engine, probing, within)
            most = traffic.warm_up + traffic.seconds + 2 * within
            with Background(stack, traffic.seed, traffic.rate, most):
                _pause(engine, traffic.warm_up)
                from_ms = now_ms()
                with CpuMeter(stack) as meter:
                    _pause(engine, traffic.seconds)
                    used = meter.read()
                until_ms = now_ms()
                _await_all(engine, probing, until_ms)
                recovery = _recover(engine, probing, reader, within) if with_kill else None
        appended = probing.prober.appended
        missing = sum(name not in each.seen for each in probing.readers.values() for name in appended)
        cores = cpu_of(engine, used) / traffic.seconds
        took = {name: latencies(appended, each.seen, from_ms, until_ms) for name, each in probing.readers.items()}
        figures = Live(took.pop(engine.name), missing, cores, recovery, used, took)
        wrong = _settled(stack, engine, task, expected(stack, Stretch(starts, ends(stack))))
        return Lived(figures, meter.peak_bytes(engine.groups), wrong)


def cpu_of(engine: Engine, used: dict[str, float]) -> float:
    """Of the CPU seconds per group those of the engine."""
    return sum(seconds for group, seconds in used.items() if group.startswith(engine.groups))


@contextmanager
def _task(stack: Settings, starts: dict[int, int]) -> Iterator[Task]:
    """Its folder is left where something went wrong: the logs are in it."""
    folder = Path(tempfile.mkdtemp(prefix="peer-", dir=stack.home))
    yield Task(stack, folder, starts)
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _running(engine: Engine) -> Iterator[None]:
    try:
        yield
    finally:
        engine.stop()


def _follow(
    database: Database, engine: Engine, base: int, all_of_it: int, begun: float, within: float
) -> list[tuple[float, int]]:
    """(seconds since `begun`, events counted) at each look, until all are."""
    progress = [(0.0, 0)]
    while progress[-1][1] < all_of_it:
        engine.check()
        if time.time() - begun > within:
            what = f"all {all_of_it:,} events that count, but {progress[-1][1]:,}"
            raise NotShown(engine.name, what, within)
        asked = time.time()
        shown = _counted(database, engine.table) - base
        progress.append((round(time.time() - begun, 3), shown))
        time.sleep(max(LOOK_SECONDS, (time.time() - asked) / MOST_LOOKING))
    return progress


def _counted(database: Database, table: str) -> int:
    return int(database.rows(tables.COUNTED.format(table))[0][0])


def _await_first(engine: Engine, probing: Probing, within: float) -> None:
    """In each view: our jobs start one after the other."""
    deadline, readers = time.monotonic() + within, probing.readers.values()
    while not all(reader.seen for reader in readers):
        engine.check()
        for reader in readers:
            reader.check()
        if time.monotonic() > deadline:
            raise NotShown(engine.name, "any new event", within)
        time.sleep(LOOK_SECONDS)


def _await_all(engine: Engine, probing: Probing, until_ms: int) -> None:
    """Probes on their way must not wait for what comes after a kill; one that does not come soon is missing."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < deadline:
        engine.check()
        probing.check()
        waiting = [name for reader in probing.readers.values() for name in reader.waiting()]
        if all(probing.prober.appended[name] >= until_ms for name in waiting):
            return
        time.sleep(LOOK_SECONDS)


def _pause(engine: Engine, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        engine.check()
        time.sleep(min(left, 1.0))


def _recover(engine: Engine, probing: Probing, reader: Reader, within: float) -> float | None:
    """Seconds from the kill to the answer that shows an event which was appended after it."""
    at_ms, deadline = now_ms(), time.monotonic() + within
    engine.kill()
    while time.monotonic() < deadline:
        probing.check()
        after = [name for name, appended in list(probing.prober.appended.items()) if appended > at_ms]
        if seen := [reader.seen[name] for name in after if name in reader.seen]:
            return round((min(seen) - at_ms) / 1000, 2)
        time.sleep(LOOK_SECONDS)
    return None


def _settled(stack: Settings, engine: Engine, task: Task, rows: Rows) -> int:
    """Wrong rows once none is left, or after a while: the last records may still be on their way."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while (wrong := engine.differences(task, rows)) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    return wrong
